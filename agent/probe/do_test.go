package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

type noExec struct {
	resp *runtimeapi.ExecSyncResponse
	err  error
}

func (n noExec) ExecSync(_ context.Context, req *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	if n.resp != nil && n.resp.Stdout == nil {
		n.resp.Stdout = []byte(strings.Join(req.Cmd, " ") + "\n")
	}
	return n.resp, n.err
}

type nothing struct{}

func (nothing) Get(types.UID) *podstate.Pod {
	return &podstate.Pod{Sandboxes: []podstate.Sandbox{{IPs: []string{"127.0.0.1"}}}}
}

func newProber(t *testing.T, exec Exec) *Prober {
	t.Helper()
	p, err := New(Config{Exec: exec, Observer: nothing{}, H2C: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shows is a pod in the runtime.
type shows struct{ pod *podstate.Pod }

func (s shows) Get(types.UID) *podstate.Pod { return s.pod }

// Network probes go to the address that is the pod's in its status.
func TestPodIP(t *testing.T) {
	of := func(ips ...string) *podstate.Pod { return &podstate.Pod{Sandboxes: []podstate.Sandbox{{IPs: ips}}} }
	for _, c := range []struct {
		name    string
		onHost  bool
		seen    *podstate.Pod
		hostIPs []string
		family  podstate.Family
		want    string
	}{
		{"the first family", false, of("10.0.0.5", "fd00::5"), []string{"192.0.2.1"}, podstate.IPv6, "fd00::5"},
		{"not as the runtime has it", false, of("fd00::5", "10.0.0.5"), []string{"2001:db8::1", "192.0.2.1"}, podstate.IPv4, "10.0.0.5"},
		{"only the other family", false, of("fd00::5"), []string{"192.0.2.1"}, podstate.IPv4, "fd00::5"},
		{"none", false, of(), []string{"192.0.2.1"}, podstate.IPv4, ""},
		{"no sandbox", false, nil, nil, podstate.IPv4, ""},
		{"the node's", true, nil, []string{"192.0.2.1"}, podstate.IPv6, "192.0.2.1"},
	} {
		p, err := New(Config{Exec: noExec{}, Observer: shows{c.seen}, HostIPs: func() []string { return c.hostIPs }, Family: c.family})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.podIP(&v1.Pod{Spec: v1.PodSpec{HostNetwork: c.onHost}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func once(t *testing.T, p *Prober, h v1.ProbeHandler) outcome {
	t.Helper()
	c := &v1.Container{Name: "web", Env: []v1.EnvVar{{Name: "F", Value: "/ok"}}}
	return p.do(t.Context(), &attempt{pod: &v1.Pod{}, container: c, probe: &v1.Probe{ProbeHandler: h}, timeout: 5 * time.Second})
}

func check(t *testing.T, what string, got outcome, result trace.ProbeResult, output string) {
	t.Helper()
	text := got.output
	if got.err != nil {
		text = got.err.Error()
	}
	if got.result() != result || !strings.Contains(text, output) {
		t.Errorf("%s: %s %q, want %s %q", what, got.result(), text, result, output)
	}
	if late := strings.Contains(strings.ToLower(text), "time") || strings.Contains(text, "deadline exceeded"); got.timedOut != late {
		t.Errorf("%s: %q: timed out %t, want %t", what, text, got.timedOut, late)
	}
}

// The status of a server whose body cannot be read does not count, and the Event says that the server answered.
func TestBodyThatEnds(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("abc"))
	}))
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	got := once(t, newProber(t, noExec{}), v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.Parse(port), Scheme: v1.URISchemeHTTP}})
	check(t, "short body", got, trace.ProbeError, "unexpected EOF")

	for _, tc := range []struct {
		o    outcome
		want string
	}{
		{got, "Liveness probe errored and resulted in failure state: unexpected EOF"},
		{outcome{err: errors.New("no such port")}, "Liveness probe errored and resulted in unknown state: no such port"},
	} {
		w := newWorld(t)
		w.p.tell(t.Context(), &attempt{pod: &v1.Pod{}, container: &v1.Container{Name: "web"}, kind: Liveness}, tc.o)
		if len(w.news) != 1 || !strings.HasSuffix(w.news[0], " web Warning Unhealthy: "+tc.want) {
			t.Errorf("events %q, want %q", w.news, tc.want)
		}
	}
}

func TestExec(t *testing.T) {
	cat := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"cat", "$(F)", "$(G)"}}}
	check(t, "ends with 0", once(t, newProber(t, noExec{resp: &runtimeapi.ExecSyncResponse{}}), cat), trace.ProbeSuccess, "cat /ok $(G)")
	check(t, "ends with 1", once(t, newProber(t, noExec{resp: &runtimeapi.ExecSyncResponse{ExitCode: 1, Stderr: []byte("no such file")}}), cat), trace.ProbeFailure, "no such file")
	check(t, "too slow", once(t, newProber(t, noExec{err: status.Error(codes.DeadlineExceeded, "x")}), cat), trace.ProbeFailure, `command timed out: "cat /ok $(G)" timed out after 5s`)
	check(t, "no runtime", once(t, newProber(t, noExec{err: status.Error(codes.Unavailable, "gone")}), cat), trace.ProbeError, "gone")
}

func TestHTTP(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte(r.UserAgent() + " " + r.Proto))
		case "/long":
			_, _ = w.Write(make([]byte, 64<<10))
		case "/here":
			http.Redirect(w, r, "/bad", http.StatusFound)
		case "/there":
			http.Redirect(w, r, "http://0.0.0.0/", http.StatusFound)
		default:
			http.Error(w, "secret", http.StatusInternalServerError)
		}
	})
	p := newProber(t, noExec{})
	for _, secure := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(handler)
		scheme := v1.URISchemeHTTP
		if secure {
			scheme = v1.URISchemeHTTPS
			srv.EnableHTTP2 = true
			srv.StartTLS()
		} else {
			srv.Config.Protocols = &http.Protocols{}
			srv.Config.Protocols.SetHTTP1(true)
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
			srv.Start()
		}
		defer srv.Close()
		_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
		get := func(path string) v1.ProbeHandler {
			return v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: intstr.Parse(port), Scheme: scheme}}
		}
		proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[secure]
		check(t, "200", once(t, p, get("/ok")), trace.ProbeSuccess, "kube-probe/1.37 "+proto)
		check(t, "500", once(t, p, get("/bad")), trace.ProbeFailure, "HTTP probe failed with statuscode: 500")
		check(t, "redirect to the same host", once(t, p, get("/here")), trace.ProbeFailure, "HTTP probe failed with statuscode: 500")
		check(t, "redirect to another", once(t, p, get("/there")), trace.ProbeWarning, "Probe terminated redirects, Response body: ")
		if o := once(t, p, get("/long")); len(o.output) != maxOutput {
			t.Errorf("%d bytes are kept", len(o.output))
		}
		h2c := get("/ok")
		if h2c.HTTPGet.Protocol = new(v1.HTTPProtocolHTTP2); !secure {
			check(t, "h2c", once(t, p, h2c), trace.ProbeSuccess, "HTTP/2.0")
		}
	}
	check(t, "nobody listens", once(t, p, v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(1)}}), trace.ProbeFailure, "connection refused")
	check(t, "no such port", once(t, p, v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromString("x")}}), trace.ProbeError, `port "x" not found`)
}

// TestExecAnswer: a command that exits with another status than 0 is an answer, one that exits with 0 is none.
func TestExecAnswer(t *testing.T) {
	h := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}
	for status, want := range map[int32]trace.ProbeAnswer{0: "", 3: trace.AnswerExit} {
		got := once(t, newProber(t, noExec{resp: &runtimeapi.ExecSyncResponse{ExitCode: status}}), h)
		if got.answer != want || got.code != int(status) {
			t.Errorf("exit status %d: answer %q, code %d, want %q", status, got.answer, got.code, want)
		}
	}
}

func TestTCPAndGRPC(t *testing.T) {
	p := newProber(t, noExec{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP address")
	}
	srv := grpc.NewServer()
	h := health.NewServer()
	healthpb.RegisterHealthServer(srv, h)
	h.SetServingStatus("db", healthpb.HealthCheckResponse_NOT_SERVING)
	go func() { _ = srv.Serve(l) }()
	defer srv.Stop()
	port := int32(addr.Port)
	check(t, "tcp", once(t, p, v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(port)}}), trace.ProbeSuccess, "")
	check(t, "tcp refused", once(t, p, v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(1)}}), trace.ProbeFailure, "connection refused")
	check(t, "grpc", once(t, p, v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port}}), trace.ProbeSuccess, "service healthy")
	check(t, "grpc of a service", once(t, p, v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: new("db")}}), trace.ProbeFailure, `service unhealthy (responded with "NOT_SERVING")`)
	check(t, "grpc of an unknown one", once(t, p, v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: new("x")}}), trace.ProbeFailure, "error: health rpc probe failed: ")
	check(t, "nothing", once(t, p, v1.ProbeHandler{}), trace.ProbeError, "missing probe handler")
	for _, c := range []struct {
		what string
		of   v1.ProbeHandler
		want trace.ProbeAnswer
	}{
		{"tcp refused", v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(1)}}, trace.AnswerRefused},
		{"a service that does not serve", v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: new("db")}}, trace.AnswerNotServing},
		{"an unknown service", v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: new("x")}}, trace.AnswerRPC},
		{"a service that serves", v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port}}, ""},
	} {
		if got := once(t, p, c.of).answer; got != c.want {
			t.Errorf("%s: answer %q, want %q", c.what, got, c.want)
		}
	}

	c := &v1.Container{Name: "web"}
	o := p.do(t.Context(), &attempt{pod: &v1.Pod{}, container: c, probe: &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1}}}, timeout: 50 * time.Millisecond})
	check(t, "grpc refused", o, trace.ProbeFailure, `timeout: failed to connect service "127.0.0.1:1" within 50ms: context deadline exceeded`)
}
