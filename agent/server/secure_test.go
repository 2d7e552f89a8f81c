package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	criremote "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kubeloupe/kubeloupe/agent/auth"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// streamed is a runtime with a streaming server, which echoes.
type streamed struct {
	hanging, release chan struct{} // the command hang sends to hanging when it runs, and ends when release is closed
	Runtime                        // for unused methods
	server           streaming.Server
	location         string // instead of the server's
	err              error
}

type exitError struct{ code int }

func (e exitError) Error() string   { return fmt.Sprintf("command terminated with exit code %d", e.code) }
func (e exitError) String() string  { return e.Error() }
func (e exitError) Exited() bool    { return true }
func (e exitError) ExitStatus() int { return e.code }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// echo runs commands: sleep says that it runs, and exits when awake is closed.
type echo struct{ awake <-chan struct{} }

func (e echo) Exec(_ context.Context, id string, cmd []string, in io.Reader, out, stderr io.WriteCloser, _ bool, sizes <-chan criremote.TerminalSize) error {
	if len(cmd) == 2 && cmd[0] == "exit" {
		fmt.Fprint(stderr, "oh no")
		return exitError{int(cmd[1][0] - '0')}
	}
	if len(cmd) == 2 && cmd[0] == "sizes" {
		for range cmd[1][0] - '0' {
			size := <-sizes
			fmt.Fprintf(out, "%d×%d ", size.Width, size.Height)
		}
		return nil
	}
	fmt.Fprintf(out, "%s %v ", id, cmd)
	if cmd[0] == "sleep" {
		<-e.awake
		return nil
	}
	_, err := io.Copy(out, in)
	return err
}

func (echo) Attach(_ context.Context, id string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan criremote.TerminalSize) error {
	if out == nil { // the client does not read it
		out = nopCloser{io.Discard}
	}
	fmt.Fprintf(out, "attached to %s ", id)
	_, err := io.Copy(out, in)
	return err
}

func (echo) PortForward(_ context.Context, sandbox string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	p := make([]byte, 4)
	if _, err := io.ReadFull(stream, p); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "%s:%d says %s", sandbox, port, p)
	return err
}

func (s *streamed) Exec(_ context.Context, r *runtimeapi.ExecRequest, _ ...grpc.CallOption) (*runtimeapi.ExecResponse, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.location != "" {
		return &runtimeapi.ExecResponse{Url: s.location}, nil
	}
	return s.server.GetExec(r)
}

func (s *streamed) Attach(_ context.Context, r *runtimeapi.AttachRequest, _ ...grpc.CallOption) (*runtimeapi.AttachResponse, error) {
	if s.location != "" {
		return &runtimeapi.AttachResponse{Url: s.location}, nil
	}
	return s.server.GetAttach(r)
}

func (s *streamed) PortForward(_ context.Context, r *runtimeapi.PortForwardRequest, _ ...grpc.CallOption) (*runtimeapi.PortForwardResponse, error) {
	if s.location != "" {
		return &runtimeapi.PortForwardResponse{Url: s.location}, nil
	}
	return s.server.GetPortForward(r)
}

func (s *streamed) ExecSync(_ context.Context, r *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	switch r.Cmd[0] {
	case "false":
		return &runtimeapi.ExecSyncResponse{ExitCode: 1}, nil
	case "loud":
		return &runtimeapi.ExecSyncResponse{Stdout: bytes.Repeat([]byte("x"), maxRunOutput+1)}, nil
	case "hang":
		s.hanging <- struct{}{}
		<-s.release
	}
	return &runtimeapi.ExecSyncResponse{Stdout: []byte(strings.Join(r.Cmd, "+"))}, nil
}

func (s *streamed) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{}, nil
}

func (s *streamed) CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest, ...grpc.CallOption) (*runtimeapi.CheckpointContainerResponse, error) {
	return nil, grpcstatus.Error(codes.Unimplemented, "unknown method")
}

type observed map[types.UID]*podstate.Pod

func (o observed) Get(uid types.UID) *podstate.Pod  { return o[uid] }
func (o observed) All() map[types.UID]*podstate.Pod { return o }

// fakeAuth requests certificates if cas is set, of any CA if it is empty. It accepts any certificate as root, the token "root", and "reader", who may only get stats and pods.
type fakeAuth struct{ cas *x509.CertPool }

func (fakeAuth) Authenticate(r *http.Request) (*auth.User, error) {
	if len(r.TLS.PeerCertificates) > 0 {
		return &auth.User{Name: "root", How: trace.CredentialX509}, nil
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch token {
	case "root", "reader", "broken":
		return &auth.User{Name: token, How: trace.CredentialToken}, nil
	case "":
		return nil, nil
	}
	return nil, errors.New("unknown token")
}

func (fakeAuth) Certified(certs []*x509.Certificate) bool { return len(certs) > 0 }

func (a fakeAuth) ClientCAs() *x509.CertPool { return a.cas }

func (a fakeAuth) Authorize(_ context.Context, u *auth.User, verb, sub string) (bool, string, error) {
	if u.Name == "broken" {
		return false, "", errors.New("no answer")
	}
	return u.Name == "root" || sub == "pods" && verb == "get", "by test", nil
}

type world struct {
	cfg     Config
	runtime *streamed
	url     string
	bus     *trace.Bus
	server  *Server
	pod     *v1.Pod
	stop    func() // ends the server, as the agent's end does
}

// start serves a pod shop/web with the containers web, which runs, and new, which waits.
func start(t *testing.T, change func(*Config)) *world {
	t.Helper()
	backend := httptest.NewUnstartedServer(nil)
	cfg := streaming.DefaultConfig
	cfg.BaseURL = &url.URL{Scheme: "http", Host: backend.Listener.Addr().String()}
	awake := make(chan struct{})
	t.Cleanup(func() { close(awake) })
	stream, err := streaming.NewServer(cfg, echo{awake})
	if err != nil {
		t.Fatal(err)
	}
	backend.Config.Handler = stream
	backend.Start()
	t.Cleanup(backend.CloseClientConnections)

	logPath := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(logPath, []byte("2026-01-02T03:04:05Z stdout F one\n2026-01-02T03:04:06Z stderr F two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{runtime: &streamed{server: stream}, bus: trace.NewBus(1024), pod: &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "web"}, {Name: "new"}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{
			{Name: "web", ContainerID: "containerd://c1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
			{Name: "new", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
		}},
	}}
	w.cfg = Config{
		Address: "127.0.0.1", Port: freePort(t), Auth: fakeAuth{x509.NewCertPool()}, Runtime: w.runtime, Bus: w.bus,
		TLS:  TLS{GetCertificate: certificate(t)},
		Pods: func() []v1.Pod { return []v1.Pod{*w.pod} },
		Pod: func(namespace, name string) *v1.Pod {
			if namespace != w.pod.Namespace || name != w.pod.Name {
				return nil
			}
			return w.pod
		},
		Observed: observed{"u1": {
			UID: "u1", Name: "web", Namespace: "shop",
			Sandboxes:  []podstate.Sandbox{{ID: "s1", Ready: true}},
			Containers: []podstate.Container{{ID: "c1", Name: "web", Image: "web:1", State: podstate.Running, LogPath: logPath}},
		}},
		Debug:      Debug{Handlers: true, SystemLogs: true, Profiling: true, FlagsV: true, Flagz: true, Statusz: true},
		WebSockets: true,
		LogDir:     t.TempDir(),
		Configz:    func() any { return map[string]int{"maxPods": 110} },
	}
	if change != nil {
		change(&w.cfg)
	}
	s, err := New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.server = s
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.url = "https://" + s.Addresses()[len(s.Addresses())-1]
	return w
}

func certificate(t *testing.T) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	t.Helper()
	ts := httptest.NewTLSServer(nil)
	defer ts.Close()
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &ts.TLS.Certificates[0], nil }
}

func (w *world) client() *rest.Config {
	return &rest.Config{Host: w.url, BearerToken: "root", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func (w *world) ask(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	c := w.client()
	c.BearerToken = token
	rt, err := rest.TransportFor(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(rt) }) // the server's end would wait for these
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	p, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(p)
}

// With the feature gate PodLogsQuerySplitStreams, one stream of a log can be read.
func TestStreamsOfALog(t *testing.T) {
	w := start(t, func(c *Config) { c.SplitStreams = true })
	for query, want := range map[string]string{
		"": "one\ntwo\n", "stream=All": "one\ntwo\n", "stream=Stdout": "one\n", "stream=Stderr": "two\n", "stream=All&tailLines=1": "two\n",
		"stream=Stderr&limitBytes=2": "tw",
	} {
		if code, body := w.ask(t, "GET", "/containerLogs/shop/web/web?"+query, "root", ""); code != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", query, code, body, want)
		}
	}
	for _, query := range []string{"stream=stdout", "stream=", "stream=Stdout&tailLines=1"} {
		if code, body := w.ask(t, "GET", "/containerLogs/shop/web/web?"+query, "root", ""); code != 422 {
			t.Errorf("%s: %d %q, want 422", query, code, body)
		}
	}
}

func TestEndpoints(t *testing.T) {
	w := start(t, func(c *Config) { c.Checkpoints = t.TempDir() })
	for _, c := range []struct {
		method, path, token string
		code                int
		body                string // text that the response contains
	}{
		{"GET", "/healthz", "", 401, "Unauthorized"},
		{"GET", "/healthz", "who", 401, "Unauthorized"},
		{"GET", "/healthz", "broken", 500, "Authorization error (user=broken, verb=get, resource=nodes, subresource=healthz)"},
		{"GET", "/healthz", "root", 200, "ok"},
		{"GET", "/healthz/log", "root", 200, "ok"},
		{"GET", "/configz", "reader", 403, "Forbidden (user=reader, verb=get, resource=nodes, subresource(s)=[configz proxy])\n"},
		{"POST", "/exec/shop/web/web?output=1", "reader", 403, "Forbidden (user=reader, verb=create, resource=nodes, subresource(s)=[proxy])\n"},
		{"GET", "/pods", "reader", 200, `"kind":"PodList"`},
		{"POST", "/pods", "root", 405, ""},
		{"GET", "/runningpods/", "root", 200, `"containers":[{"name":"web","image":"web:1"`},
		{"GET", "/configz", "root", 200, `{"kubeletconfig":{"maxPods":110}}`},
		{"GET", "/metrics/slis", "root", 200, `kubernetes_healthcheck{name="ping",type="healthz"} 1`},
		{"GET", "/metrics/slis", "root", 200, "\nprocess_start_time_seconds 1"},
		{"GET", "/statusz", "root", 200, "kubelet statusz"},
		{"GET", "/flagz", "root", 200, "kubelet flagz"},
		{"GET", "/logs/", "root", 200, "<pre>"},
		{"GET", "/debug/pprof/cmdline", "root", 200, "server.test"},
		{"PUT", "/debug/flags/v", "root", 400, "failed set klog.logging.verbosity"},
		{"GET", "/nothing", "root", 404, ""},

		{"GET", "/containerLogs/shop/web/web", "root", 200, "one\ntwo\n"},
		{"GET", "/containerLogs/shop/web/web?tailLines=1", "root", 200, "two\n"},
		{"GET", "/containerLogs/shop/web/web?tail=1", "root", 200, "two\n"},
		{"GET", "/containerLogs/shop/web/web?limitBytes=2&timestamps=true", "root", 200, "20"},
		{"GET", "/containerLogs/shop/web/web?stream=All", "root", 200, "one\ntwo\n"},
		{"GET", "/containerLogs/shop/web/web?stream=Stderr", "root", 400, `unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet`},
		{"GET", "/containerLogs/shop/web/web?stream=x", "root", 422, "Invalid request"},
		{"GET", "/containerLogs/shop/web/web?sinceTime=2026-01-02T03:04:06Z", "root", 200, "two\n"},
		{"GET", "/containerLogs/shop/web/web?tailLines=x", "root", 400, "Unable to decode query"},
		{"GET", "/containerLogs/shop/web/web?limitBytes=0", "root", 422, "Invalid request"},
		{"GET", "/containerLogs/shop/web/web?previous=true", "root", 400, `previous terminated container "web" in pod "web" not found`},
		{"GET", "/containerLogs/shop/web/new", "root", 400, `container "new" in pod "web" is waiting to start: ContainerCreating`},
		{"GET", "/containerLogs/shop/web/none", "root", 404, `container "none" not found in pod "web"`},
		{"GET", "/containerLogs/shop/none/web", "root", 404, `pod "none" does not exist`},

		{"POST", "/run/shop/web/web?cmd=ls+-l", "root", 200, "ls+-l"},
		{"POST", "/run/shop/web/u1/web?cmd=ls", "root", 200, "ls"},
		{"POST", "/run/shop/web/u2/web?cmd=ls", "root", 500, "container not found"},
		{"POST", "/run/shop/web/web?cmd=false", "root", 500, "exited with 1"},
		{"POST", "/exec/shop/none/web?output=1", "root", 404, "pod does not exist"},
		{"POST", "/exec/shop/web/web", "root", 400, "you must specify at least 1 of stdin, stdout, stderr"},
		{"POST", "/exec/shop/web/new?output=1", "root", 500, `container not found ("new")`},
		{"POST", "/attach/shop/web/new?output=1", "root", 500, "container new not found in pod web_shop"},
		{"POST", "/portForward/shop/none", "root", 404, "pod does not exist"},
		{"POST", "/portForward/shop/web/u2", "root", 404, "pod not found"},
		{"POST", "/exec/shop/web/web?output=1", "root", 500, "Upgrade request required"},
		{"POST", "/checkpoint/shop/web/web", "root", 500, "checkpointing of shop/web/web failed (rpc error: code = Unimplemented"},
		{"POST", "/checkpoint/shop/web/web?timeout=-1", "root", 500, "checkpointing of shop/web/web failed (CheckpointContainer requires the timeout value to be > 0)"},
		{"POST", "/checkpoint/shop/web/web?timeout=-1&timeout=5", "root", 500, "checkpointing of shop/web/web failed (rpc error: code = Unimplemented"},
		{"POST", "/checkpoint/shop/web/web?timeout=x", "root", 404, "cannot parse value of timeout parameter"},
	} {
		code, body := w.ask(t, c.method, c.path, c.token, "")
		if code != c.code || !strings.Contains(body, c.body) {
			t.Errorf("%s %s by %q: %d %q, want %d and %q", c.method, c.path, c.token, code, body, c.code, c.body)
		}
	}
}

func TestDisabled(t *testing.T) {
	off := start(t, func(c *Config) { c.Debug = Debug{} })
	for _, p := range []string{"/exec/shop/web/web", "/containerLogs/shop/web/web", "/runningpods/", "/logs/", "/debug/pprof/"} {
		if code, body := off.ask(t, "GET", p, "root", ""); code != 405 || body != "Debug endpoints are disabled.\n" {
			t.Errorf("%s: %d %q", p, code, body)
		}
	}
	for _, c := range []struct{ flagz, statusz bool }{{false, false}, {true, false}, {false, true}} {
		w := start(t, func(g *Config) { g.Debug = Debug{Handlers: true, Flagz: c.flagz, Statusz: c.statusz} })
		for p, on := range map[string]bool{"/flagz": c.flagz, "/statusz": c.statusz} {
			code, body := w.ask(t, "GET", p, "root", "")
			if on && code != 200 || !on && code != 404 {
				t.Errorf("%+v: %s: %d %q", c, p, code, body)
			}
			if lists := strings.Contains(body, "/flagz"); p == "/statusz" && lists {
				t.Errorf("%+v: /statusz has /flagz: %q", c, body)
			}
		}
	}
	some := start(t, func(c *Config) { c.Debug = Debug{Handlers: true} })
	for p, want := range map[string]string{"/logs/": "logs endpoint is disabled.\n", "/debug/pprof/": "profiling endpoint is disabled.\n", "/debug/flags/v": "flags endpoint is disabled.\n"} {
		if code, body := some.ask(t, "GET", p, "root", ""); code != 405 || body != want {
			t.Errorf("%s: %d %q", p, code, body)
		}
	}
}

func executors(t *testing.T, w *world, path string) map[string]remotecommand.Executor {
	t.Helper()
	u, err := url.Parse(w.url + path)
	if err != nil {
		t.Fatal(err)
	}
	overSPDY, err := remotecommand.NewSPDYExecutor(w.client(), "POST", u)
	if err != nil {
		t.Fatal(err)
	}
	overWS, err := remotecommand.NewWebSocketExecutor(w.client(), "GET", u.String())
	if err != nil {
		t.Fatal(err)
	}
	// Protocols that runtimes support are forwarded unchanged.
	v4, err := remotecommand.NewWebSocketExecutorForProtocols(w.client(), "GET", u.String(), "v4.channel.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]remotecommand.Executor{"spdy": overSPDY, "websocket": overWS, "websocket v4": v4}
}

func TestExecAndAttach(t *testing.T) {
	w := start(t, nil)
	for path, want := range map[string]string{
		"/exec/shop/web/web?command=cat&command=-&input=1&output=1": "c1 [cat -] hello",
		"/attach/shop/web/u1/web?input=1&output=1":                  "attached to c1 hello",
	} {
		for name, e := range executors(t, w, path) {
			if name == "websocket v4" { // it cannot signal the end of its input, so cat would not exit
				continue
			}
			t.Run(name+path[:5], func(t *testing.T) {
				var out bytes.Buffer
				err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &out})
				if err != nil || out.String() != want {
					t.Errorf("%q, %v, want %q", out.String(), err, want)
				}
			})
		}
	}
	for name, e := range executors(t, w, "/exec/shop/web/web?command=exit&command=3&output=1&error=1") {
		t.Run(name+" exit code", func(t *testing.T) {
			var out, stderr bytes.Buffer
			err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &stderr})
			var exit utilexec.CodeExitError
			if !errors.As(err, &exit) || exit.Code != 3 || stderr.String() != "oh no" {
				t.Errorf("error %v, stderr %q", err, stderr.String())
			}
		})
	}
}

// A command with endless output, or one that does not exit, uses no more than its share.
func TestRunIsBounded(t *testing.T) {
	w := start(t, nil)
	w.runtime.hanging, w.runtime.release = make(chan struct{}), make(chan struct{})
	code, body := w.ask(t, "POST", "/run/shop/web/web?cmd=loud", "root", "")
	if code != http.StatusInternalServerError || !strings.Contains(body, "printed more than 1048576 bytes") || len(body) > 4096 {
		t.Errorf("%d, %d bytes: %.200q", code, len(body), body)
	}
	var asked sync.WaitGroup
	for range maxRuns {
		asked.Go(func() { w.ask(t, "POST", "/run/shop/web/web?cmd=hang", "root", "") })
		select {
		case <-w.runtime.hanging:
		case <-time.After(time.Minute):
			t.Fatal("a command is not run within a minute")
		}
	}
	if code, body := w.ask(t, "POST", "/run/shop/web/web?cmd=ls", "root", ""); code != http.StatusTooManyRequests {
		t.Errorf("%d %q while %d commands hang", code, body, maxRuns)
	}
	close(w.runtime.release)
	asked.Wait()
	if code, body := w.ask(t, "POST", "/run/shop/web/web?cmd=ls", "root", ""); code != http.StatusOK {
		t.Errorf("%d %q when they have ended", code, body)
	}
}

func TestRuntimeWithoutStreaming(t *testing.T) {
	w := start(t, nil)
	w.runtime.err = grpcstatus.Error(codes.Unimplemented, "method Exec not implemented")
	code, body := w.ask(t, "POST", "/exec/shop/web/web?output=1", "root", "")
	if code != http.StatusInternalServerError || !strings.Contains(body, "method Exec not implemented") {
		t.Errorf("%d %q", code, body)
	}
}

func TestPortForward(t *testing.T) {
	w := start(t, nil)
	u, err := url.Parse(w.url + "/portForward/shop/web")
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(w.client())
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, w.client())
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{
		"spdy": spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u), "websocket": tunnel,
	} {
		t.Run(name, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{})
			f, err := portforward.NewForStreaming(dialer, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- f.ForwardPorts() }()
			select {
			case <-ready:
			case err := <-done:
				t.Fatal(err)
			}
			ports, err := f.GetPorts()
			if err != nil {
				t.Fatal(err)
			}
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, "ping")
			if p, err := io.ReadAll(conn); err != nil || string(p) != "s1:8080 says ping" {
				t.Errorf("%q, %v", p, err)
			}
			close(stop)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// A followed log arrives as it is written, and ends with the container.
func TestFollowLogs(t *testing.T) {
	w := start(t, nil)
	rt, err := rest.TransportFor(w.client())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/containerLogs/shop/web/web?follow=true&tailLines=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	path := w.cfg.Observed.Get("u1").Newest("web").LogPath
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintln(f, "2026-01-02T03:04:07Z stdout F three")
	p := make([]byte, 6)
	if _, err := io.ReadFull(res.Body, p); err != nil || string(p) != "three\n" {
		t.Fatalf("%q, %v", p, err)
	}
}

// The record of a request has the caller, the pod and the result. The pod is looked up only after the caller is
// authorized.
func TestRequestsArePublished(t *testing.T) {
	w := start(t, nil)
	cur := w.bus.Subscribe(trace.FromNow)
	w.ask(t, "GET", "/containerLogs/shop/web/web", "root", "")
	w.ask(t, "GET", "/configz", "reader", "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for len(got) < 4 {
		recs, _, err := cur.Next(ctx, make([]trace.Record, 0, 8))
		if err != nil {
			t.Fatalf("%v, after\n%s", err, strings.Join(got, "\n"))
		}
		for _, r := range recs {
			if e, ok := r.Event.(*trace.ServerRequest); ok {
				got = append(got, fmt.Sprintf("%s %s %s %q %q %d %d", r.Edge, r.Pod, e.Path, e.User, e.Verdict, e.Code, e.Bytes))
			}
		}
	}
	want := []string{
		`begin  /containerLogs/shop/web/web "" "" 0 0`,
		`end shop/web /containerLogs/shop/web/web "root" "allowed" 200 8`,
		`begin  /configz "" "" 0 0`,
		`end  /configz "reader" "forbidden" 403 82`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A handler that panics is an error that people see, and the connection ends.
func TestPanic(t *testing.T) {
	w := start(t, func(c *Config) {
		c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") })
	})
	cur := w.bus.Subscribe(trace.FromNow)
	rt, err := rest.TransportFor(w.client())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := rt.RoundTrip(req); err == nil {
		res.Body.Close()
		t.Errorf("status %d", res.StatusCode)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	said := ""
	for {
		recs, _, err := cur.Next(ctx, make([]trace.Record, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		switch e := recs[0].Event.(type) {
		case *trace.Log:
			said += fmt.Sprint(e.Level, e.Message, e.Attrs)
		case *trace.ServerRequest:
			if recs[0].Edge != trace.EdgeEnd {
				continue
			}
			if e.Code != 500 || e.Reason != "panic: oops" || !strings.Contains(said, "TestPanic") {
				t.Errorf("%+v after %s", e, said)
			}
			return
		}
	}
}

// TestWhatBecomesOfRequests checks the records for each server and each verdict.
func TestWhatBecomesOfRequests(t *testing.T) {
	w := allPorts(t, nil)
	cur := w.bus.Subscribe(trace.FromNow)
	ports := w.ports()
	for _, url := range []string{"http://" + ports["healthz"] + "/healthz", "http://" + ports["read-only"] + "/pods"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	for _, token := range []string{"root", "reader", "stranger", "broken"} {
		w.ask(t, "GET", "/configz", token, "")
	}
	want := []trace.ServerRequest{
		{Server: trace.ServerHealthz, Path: "/healthz", Code: 200},
		{Server: trace.ServerReadOnly, Path: "/pods", Code: 200},
		{Server: trace.ServerHTTPS, Path: "/configz", User: "root", How: trace.CredentialToken, Verdict: trace.AccessAllowed, Code: 200},
		{Server: trace.ServerHTTPS, Path: "/configz", User: "reader", How: trace.CredentialToken, Verdict: trace.AccessForbidden, Code: 403},
		{Server: trace.ServerHTTPS, Path: "/configz", Verdict: trace.AccessUnauthenticated, Code: 401},
		{Server: trace.ServerHTTPS, Path: "/configz", User: "broken", How: trace.CredentialToken, Verdict: trace.AccessError, Code: 500},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []trace.ServerRequest
	for len(got) < len(want) {
		recs, _, err := cur.Next(ctx, make([]trace.Record, 0, 8))
		if err != nil {
			t.Fatalf("got %v after %+v, want %d requests", err, got, len(want))
		}
		for _, r := range recs {
			if e, ok := r.Event.(*trace.ServerRequest); ok && r.Edge == trace.EdgeEnd {
				got = append(got, trace.ServerRequest{Server: e.Server, Path: e.Path, User: e.User, How: e.How, Verdict: e.Verdict, Code: e.Code})
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
