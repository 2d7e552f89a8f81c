package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// manifests is a web server of static pods that wants to be shown a header; the agent's arguments for it.
func (c *canaries) manifests(k map[string]any) (web *httptest.Server, args []string) {
	header := c.secret("header")
	static := manifest("web", forever)
	web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth") != header || r.URL.Query().Get("token") == "" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, static)
	}))
	c.t.Cleanup(web.Close)
	k["staticPodURL"] = strings.Replace(web.URL, "http://", "http://"+c.secret("user")+":"+c.secret("password")+"@", 1) + "/pods?token=" + c.secret("query")
	k["httpCheckFrequency"] = "1s"
	return web, []string{"--manifest-url-header=X-Auth:" + header}
}

// registry refuses every pull, and quotes who asks; or it sends him on, to a place that lets in whoever has its name.
func (c *canaries) registry() string {
	signed := "http://127.0.0.1:1/blob?X-Amz-Credential=" + c.secret("signer") + "&X-Amz-Signature=" + c.secret("signature")
	image := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json",` +
		`"digest":"sha256:` + strings.Repeat("c", 64) + `","size":3},"layers":[]}`
	reg := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		switch {
		case strings.HasPrefix(r.URL.Path, "/v2/signed/image/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Docker-Content-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(image))))
			_, _ = w.Write([]byte(image))
			return
		case strings.HasPrefix(r.URL.Path, "/v2/signed/"):
			http.Redirect(w, r, signed, http.StatusTemporaryRedirect)
			return
		case !ok:
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

// providers are exec credential providers: one has a login, one makes one of the pod's token, which it keeps in the file asked, and one
// fails loudly.
func (c *canaries) providers(dir, registry string) (args []string, asked string) {
	bins, config := filepath.Join(dir, "bin"), filepath.Join(dir, "providers.yaml")
	asked = filepath.Join(dir, "asked")
	must(c.t, os.MkdirAll(bins, 0o755))
	answer := func(place, password string) string {
		return fmt.Sprintf(`{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image","auth":{%q:{"username":"u","password":%s}}}`, place, password)
	}
	for name, script := range map[string]string{
		"canary": "cat >/dev/null\necho '" + answer(registry, `"`+c.secret("provider")+`"`) + "'\n",
		"ofpod": "cat >" + asked + ".$$\nmv " + asked + ".$$ " + asked + "\ntoken=$(sed 's/.*\"serviceAccountToken\":\"\\([^\"]*\\).*/\\1/' <" + asked + ")\n" +
			"echo '" + answer(registry, `"'$token'"`) + "'\n",
		"loud": "cat >&2\necho " + c.secret("stdout") + "\necho " + c.secret("stderr") + " $LOUD >&2\nexit 1\n",
	} {
		must(c.t, os.WriteFile(filepath.Join(bins, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	must(c.t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: canary
  matchImages: [%[1]q]
  defaultCacheDuration: 1m
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  env: [{name: CANARY_ENV, value: %[4]q}]
- name: ofpod
  matchImages: [%[2]q]
  defaultCacheDuration: 1m
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  tokenAttributes: {serviceAccountTokenAudience: canary, requireServiceAccount: true, cacheType: Token}
- name: loud
  matchImages: [%[3]q]
  defaultCacheDuration: 1m
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [%[5]q]
  env: [{name: LOUD, value: %[6]q}]
`, registry+"/provided", registry+"/account", registry+"/signed", c.secret("providerenv"), c.secret("providerarg"), c.secret("loudenv")), 0o600))
	return []string{"--image-credential-provider-bin-dir=" + bins, "--image-credential-provider-config=" + config}, asked
}

// csi is a driver that refuses volumes, and quotes what it was given.
func (c *canaries) csi() {
	c.t.Helper()
	_, err := c.bench.client.StorageV1().CSIDrivers().Create(c.t.Context(), &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: canaryDriver},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired: new(false), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral, storagev1.VolumeLifecyclePersistent},
			TokenRequests: []storagev1.TokenRequest{{Audience: "canary"}},
		},
	}, metav1.CreateOptions{})
	must(c.t, err)
	c.undo(func() error {
		return c.bench.client.StorageV1().CSIDrivers().Delete(noDeadline(c.t), canaryDriver, metav1.DeleteOptions{})
	})
	path := filepath.Join(c.agent.RootDir, "plugins_registry", "canary.sock")
	listener, err := net.Listen("unix", path)
	must(c.t, err)
	server := grpc.NewServer()
	d := canaryCSI{path: path, c: c}
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
	c    *canaries
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
	out := &csipb.NodeGetCapabilitiesResponse{}
	for _, can := range []csipb.NodeServiceCapability_RPC_Type{csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, csipb.NodeServiceCapability_RPC_EXPAND_VOLUME} {
		rpc := &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: can}}
		out.Capabilities = append(out.Capabilities, &csipb.NodeServiceCapability{Type: rpc})
	}
	return out, nil
}

func (d canaryCSI) NodeStageVolume(_ context.Context, r *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	if r.GetVolumeId() == "staged" {
		return nil, refused(r.GetSecrets())
	}
	return &csipb.NodeStageVolumeResponse{}, nil
}

func (d canaryCSI) NodePublishVolume(_ context.Context, r *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	if r.GetVolumeId() == "expanded" {
		return &csipb.NodePublishVolumeResponse{}, nil
	}
	said := map[string]string{}
	maps.Copy(said, r.GetSecrets())
	var tokens map[string]struct{ Token string }
	if json.Unmarshal([]byte(r.GetVolumeContext()["csi.storage.k8s.io/serviceAccount.tokens"]), &tokens) == nil && tokens["canary"].Token != "" {
		said["token"] = tokens["canary"].Token
		d.c.token("csitoken", said["token"])
	}
	return nil, refused(said)
}

func (canaryCSI) NodeExpandVolume(_ context.Context, r *csipb.NodeExpandVolumeRequest) (*csipb.NodeExpandVolumeResponse, error) {
	return nil, refused(r.GetSecrets())
}

// refused quotes secrets in every way that programs have.
func refused(secrets map[string]string) error {
	all, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("the server refuses %q, %v: %s, which is %s", secrets, secrets, all, base64.StdEncoding.EncodeToString(all))
	for _, s := range secrets {
		again := strconv.Quote(fmt.Sprintf("login with %q", s))
		said += fmt.Sprintf("; or %s, %s, %q, %x, %X, %q, ?p=%s, '%s'", base64.StdEncoding.EncodeToString([]byte("u:"+s)), base64.URLEncoding.EncodeToString([]byte(s)), s, s, s, again,
			url.QueryEscape(s), strings.ReplaceAll(s, "'", `'\''`))
	}
	return status.Error(codes.PermissionDenied, said)
}

func (canaryCSI) NodeUnstageVolume(context.Context, *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	return &csipb.NodeUnstageVolumeResponse{}, nil
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
