package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Those to whom the agent gives secrets, and who say them again.

const canaryDriver = "canary.csi.kubeloupe.dev"

// manifests is a web server of static pods that wants to be shown a header.
func (c *canaries) manifests(header string) *httptest.Server {
	c.header = header
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth") != header || r.URL.Query().Get("token") == "" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, manifest("web", forever))
	}))
	c.t.Cleanup(web.Close)
	return web
}

// registry refuses every pull, and quotes who asks.
func (c *canaries) registry() string {
	reg := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="canary"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":"no %s with %s or %s"}]}`, user, password, strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "))
	}))
	c.t.Cleanup(reg.Close)
	return strings.TrimPrefix(reg.URL, "http://")
}

// provider is an exec credential provider.
func (c *canaries) provider(dir, registry string) (bins, config string) {
	bins, config = filepath.Join(dir, "bin"), filepath.Join(dir, "providers.yaml")
	must(c.t, os.MkdirAll(bins, 0o755))
	answer := fmt.Sprintf(`{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image","auth":{%q:{"username":"u","password":%q}}}`,
		registry, canary("provider"))
	must(c.t, os.WriteFile(filepath.Join(bins, "canary"), []byte("#!/bin/sh\ncat >/dev/null\necho '"+answer+"'\n"), 0o755))
	must(c.t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: canary
  matchImages: [%q]
  defaultCacheDuration: 1m
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  env: [{name: CANARY_ENV, value: %q}]
`, registry+"/provided", canary("providerenv")), 0o600))
	return bins, config
}

// csi is a driver that refuses volumes, and quotes what it was given.
func (c *canaries) csi() {
	c.t.Helper()
	_, err := c.bench.client.StorageV1().CSIDrivers().Create(c.t.Context(), &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: canaryDriver},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired: new(false), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral},
			TokenRequests: []storagev1.TokenRequest{{Audience: "canary"}},
		},
	}, metav1.CreateOptions{})
	must(c.t, err)
	c.t.Cleanup(func() {
		_ = c.bench.client.StorageV1().CSIDrivers().Delete(context.WithoutCancel(c.t.Context()), canaryDriver, metav1.DeleteOptions{})
	})
	path := filepath.Join(c.agent.RootDir, "plugins_registry", "canary.sock")
	listener, err := net.Listen("unix", path)
	must(c.t, err)
	server := grpc.NewServer()
	d := canaryCSI{path: path}
	registerapi.RegisterRegistrationServer(server, d)
	csipb.RegisterIdentityServer(server, d)
	csipb.RegisterNodeServer(server, d)
	go func() { _ = server.Serve(listener) }()
	c.t.Cleanup(server.Stop)
}

type canaryCSI struct {
	csipb.UnimplementedIdentityServer
	csipb.UnimplementedNodeServer
	registerapi.UnimplementedRegistrationServer
	path string
}

func (d canaryCSI) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: canaryDriver, Endpoint: d.path, SupportedVersions: []string{"1.0.0"}}, nil
}

func (canaryCSI) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (canaryCSI) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return &csipb.NodeGetInfoResponse{NodeId: "canary"}, nil
}

func (canaryCSI) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	return &csipb.NodeGetCapabilitiesResponse{}, nil
}

func (canaryCSI) NodePublishVolume(_ context.Context, r *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	password := r.GetSecrets()["password"]
	return nil, status.Errorf(codes.PermissionDenied, "the server refuses %q, which is %s, with %v", password, base64.StdEncoding.EncodeToString([]byte(password)), r.GetSecrets())
}

func (canaryCSI) NodeUnpublishVolume(context.Context, *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	return &csipb.NodeUnpublishVolumeResponse{}, nil
}

// runProgram runs the program, for a minute at most, and returns all that it says.
func runProgram(ctx context.Context, binary string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "KUBELOUPE_SOCKET=") })
	out, err := cmd.CombinedOutput()
	return string(out), err
}
