package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	criremote "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/server"
	"github.com/kubeloupe/kubeloupe/test/freeport"
)

// TestAsUpstream sends all requests to the server alone and compares with what upstream's kubelet answered: see make compat.
func TestAsUpstream(t *testing.T) {
	upstream, err := readAnswers("testdata/upstream.json")
	if err != nil || len(upstream) < 500 {
		t.Fatalf("%d answers of upstream's, %v", len(upstream), err)
	}
	all := cases()
	for i, r := range all {
		if slices.ContainsFunc(all[:i], func(other request) bool { return other.id == r.id }) {
			t.Errorf("%q twice", r.id)
		}
	}
	ours, err := serve(t).askAll(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range compare(all, upstream, ours).differences {
		if d.reason == "" {
			t.Error(d)
		}
	}
}

// TestPage compares what the page says of how many were asked with what is asked.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("| **all** | %d |", len(cases())); !strings.Contains(string(page), want) || strings.Contains(string(page), noReason) || !strings.HasSuffix(string(page), limits) {
		t.Errorf("docs/compatibility.md has no %q, or a difference without a reason: make compat", want)
	}
}

var update = flag.Bool("update", false, "write the page's part about contents anew, from what is kept")

// TestContents compares what is kept of the contents of both agents' responses, and the page with that.
func TestContents(t *testing.T) {
	k, err := readKept("testdata/contents.json")
	if err != nil || len(k.Upstream) < len(documents) || len(k.Kubeloupe) != len(k.Upstream) {
		t.Fatalf("%d documents of upstream's, %d of kubeloupe's, %v", len(k.Upstream), len(k.Kubeloupe), err)
	}
	c := contrasted(k)
	for _, one := range c.changes {
		if one.reason == "" {
			t.Error(one)
		}
	}
	for _, why := range c.idle {
		t.Errorf("a reason without a difference: %s", why)
	}
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if before, _, ok := strings.Cut(string(page), contentHead[:len("\n## Contents\n")]); *update && ok {
		if err := os.WriteFile("../../docs/compatibility.md", []byte(before+c.section()+limits), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.Contains(string(page), c.section()) {
		t.Error("docs/compatibility.md does not have the contents of testdata/contents.json: make compat")
	}
}

const uid = "0a1b2c3d-0000-4000-8000-000000000001"

// serve serves the pod on a port of its own.
func serve(t *testing.T) target {
	t.Helper()
	port := freePort(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "0.log")
	if err := os.WriteFile(log, []byte("2026-01-02T03:04:05Z stdout F one\n2026-01-02T03:04:06Z stderr F two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName, UID: uid},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: containerName}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{
			{Name: containerName, ContainerID: "containerd://c1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		}},
	}
	ca := authority(t, filepath.Join(dir, "ca.crt"))
	root, err := issue(ca, admin)
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.New(auth.Config{Node: "node", ClientCAFile: filepath.Join(dir, "ca.crt"), Tokens: tokens{}, TokenTTL: time.Minute, Access: rights{}, AllowedTTL: time.Minute, DeniedTTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	text := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	})
	s, err := server.New(server.Config{
		Address: "127.0.0.1", Port: port, Auth: a, TLS: server.TLS{GetCertificate: certificate(t)},
		Pods: func() []v1.Pod { return []v1.Pod{*pod} },
		Pod: func(ns, name string) *v1.Pod {
			if ns != namespace || name != podName {
				return nil
			}
			return pod
		},
		Observed: observed{uid: {UID: uid, Name: podName, Namespace: namespace, Sandboxes: []podstate.Sandbox{{ID: "s1", Ready: true}}, Containers: []podstate.Container{
			{ID: "c1", Name: containerName, State: podstate.Running, LogPath: log},
		}}},
		Runtime: newRuntime(t), Stats: noStats{}, Metrics: text, ResourceMetrics: text, ContainerMetrics: text, ProbeMetrics: text,
		Checks:  []server.Check{{Name: "syncloop", Check: func() error { return nil }}},
		Configz: func() any { return map[string]int{"maxPods": 110} }, Version: "v1.37.1", LogDir: dir, Checkpoints: dir,
		Debug: server.Debug{Handlers: true, SystemLogs: true, Profiling: true, FlagsV: true, Flagz: true, Statusz: true}, WebSockets: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	credentials := map[string]credential{nobody: {}, stranger: {token: "made.up.token"}, admin: {cert: root}}
	for _, name := range append([]string{noRights, noRole}, subresources...) {
		credentials[name] = credential{token: "known-" + name}
	}
	return target{address: fmt.Sprintf("127.0.0.1:%d", port), credentials: credentials, words: words(uid, "known-"+noRole)}
}

func freePort(t *testing.T) int32 {
	t.Helper()
	port, err := freeport.TCP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// authority makes one that signs clients' certificates, and writes its own.
func authority(t *testing.T, file string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func certificate(t *testing.T) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	t.Helper()
	ts := httptest.NewTLSServer(nil)
	defer ts.Close()
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &ts.TLS.Certificates[0], nil }
}

// tokens knows those that begin with known-, by the rest.
type tokens struct{}

func (tokens) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	out := r.DeepCopy()
	out.Status.User.Username, out.Status.Authenticated = strings.CutPrefix(r.Spec.Token, "known-")
	return out, nil
}

// rights lets admin do all, and others what they are named for.
type rights struct{}

func (rights) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	out := r.DeepCopy()
	out.Status.Allowed = r.Spec.User == admin || r.Spec.User == r.Spec.ResourceAttributes.Subresource
	return out, nil
}

type observed map[types.UID]*podstate.Pod

func (o observed) Get(uid types.UID) *podstate.Pod  { return o[uid] }
func (o observed) All() map[types.UID]*podstate.Pod { return o }

type noStats struct{}

func (noStats) Summary(context.Context, bool) (*statsapi.Summary, error) {
	return &statsapi.Summary{}, nil
}

// madeUp is a runtime with a real streaming server, in which nothing runs.
type madeUp struct {
	server.Runtime // what is not used
	streams        streaming.Server
}

func newRuntime(t *testing.T) *madeUp {
	t.Helper()
	backend := httptest.NewUnstartedServer(nil)
	cfg := streaming.DefaultConfig
	cfg.BaseURL = &url.URL{Scheme: "http", Host: backend.Listener.Addr().String()}
	s, err := streaming.NewServer(cfg, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	backend.Config.Handler = s
	backend.Start()
	t.Cleanup(backend.CloseClientConnections)
	return &madeUp{streams: s}
}

type quiet struct{}

func (quiet) Exec(context.Context, string, []string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan criremote.TerminalSize) error {
	return nil
}

func (quiet) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan criremote.TerminalSize) error {
	return nil
}

func (quiet) PortForward(_ context.Context, _ string, _ int32, s io.ReadWriteCloser) error {
	return s.Close()
}

func (m *madeUp) Exec(_ context.Context, r *runtimeapi.ExecRequest, _ ...grpc.CallOption) (*runtimeapi.ExecResponse, error) {
	return m.streams.GetExec(r)
}

func (m *madeUp) Attach(_ context.Context, r *runtimeapi.AttachRequest, _ ...grpc.CallOption) (*runtimeapi.AttachResponse, error) {
	return m.streams.GetAttach(r)
}

func (m *madeUp) PortForward(_ context.Context, r *runtimeapi.PortForwardRequest, _ ...grpc.CallOption) (*runtimeapi.PortForwardResponse, error) {
	return m.streams.GetPortForward(r)
}

func (m *madeUp) ExecSync(_ context.Context, r *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	switch strings.Join(r.Cmd, " ") {
	case "true":
		return &runtimeapi.ExecSyncResponse{}, nil
	case "false":
		return &runtimeapi.ExecSyncResponse{ExitCode: 1}, nil
	}
	return nil, errors.New("no such program")
}

func (m *madeUp) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{}, nil
}

func (m *madeUp) CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest, ...grpc.CallOption) (*runtimeapi.CheckpointContainerResponse, error) {
	return nil, grpcstatus.Error(codes.Internal, "it cannot be checkpointed")
}
