package lifecycle

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
)

type shell struct {
	resp *runtimeapi.ExecSyncResponse
	err  error
	req  *runtimeapi.ExecSyncRequest
}

func (s *shell) ExecSync(_ context.Context, req *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	s.req = req
	return s.resp, s.err
}

type toldEvents struct {
	events.Publisher
	told []string
}

func (e *toldEvents) Pod(_ context.Context, _ *v1.Pod, container, eventType, reason, message string) {
	e.told = append(e.told, container+eventType+" "+reason+": "+message)
}

var (
	cart = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart", Namespace: "shop", UID: "9f"}}
	web  = &v1.Container{Name: "web", Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 1}}}
)

func newRunner(t *testing.T, cfg Config) *Runner {
	t.Helper()
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExec(t *testing.T) {
	h := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "$(X)"}}}
	s := &shell{resp: &runtimeapi.ExecSyncResponse{Stdout: []byte("out")}}
	r := newRunner(t, Config{Exec: s})
	if out, err := r.Run(t.Context(), cart, web, "1", "", h); err != nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	if s.req.ContainerId != "1" || s.req.Timeout != 0 || s.req.Cmd[2] != "$(X)" {
		t.Errorf("asked for %v", s.req)
	}
	s.resp = &runtimeapi.ExecSyncResponse{Stdout: []byte("out"), Stderr: []byte("err"), ExitCode: 3}
	out, err := r.Run(t.Context(), cart, web, "1", "", h)
	want := `Exec lifecycle hook ([sh -c $(X)]) for Container "web" in Pod "cart_shop(9f)" failed - error: command 'sh -c $(X)' exited with 3: err, message: "outerr"`
	if err == nil || out != want {
		t.Errorf("%v, %s", err, cmp.Diff(want, out))
	}
	s.err = status.Error(codes.DeadlineExceeded, "late")
	if _, err = r.Run(t.Context(), cart, web, "1", "", h); err == nil || err.Error() != `command timed out: "sh -c $(X)" timed out` {
		t.Errorf("error %v", err)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, Config{Exec: &shell{}})
		h := &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 5}}
		began := time.Now()
		if _, err := r.Run(t.Context(), cart, web, "1", "", h); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("slept %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, err := r.Run(ctx, cart, web, "1", "", h)
		want := `Sleep lifecycle hook (5) for Container "web" in Pod "cart_shop(9f)" failed - error: container terminated before sleep hook finished`
		if err == nil || out != want {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestHTTP(t *testing.T) {
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.UserAgent()+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer srv.Close()
	host, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	var evs toldEvents
	r := newRunner(t, Config{Exec: &shell{}, Events: &evs})
	run := func(scheme v1.URIScheme, port string) (string, error) {
		h := &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{
			Path: "/bye", Port: intstr.Parse(port), Scheme: scheme,
			HTTPHeaders: []v1.HTTPHeader{{Name: "Authorization", Value: "secret"}},
		}}
		return r.Run(t.Context(), cart, web, "1", host, h)
	}
	if out, err := run("", port); err != nil || out != "" || evs.told != nil {
		t.Errorf("a status is no failure: %q, %v, %q", out, err, evs.told)
	}
	if out, err := run(v1.URISchemeHTTPS, port); err != nil || out != "" {
		t.Errorf("a plain server: %q, %v", out, err)
	}
	if d := cmp.Diff([]string{"kube-lifecycle/1.37 /bye secret", "kube-lifecycle/1.37 /bye "}, got); d != "" {
		t.Error(d)
	}
	want := "Warning LifecycleHTTPFallback: request to HTTPS lifecycle hook " + srv.Listener.Addr().String() + " got HTTP response, retry with HTTP succeeded"
	if d := cmp.Diff([]string{want}, evs.told); d != "" {
		t.Error(d)
	}
	out, err := run("", "http")
	want = `HTTP lifecycle hook (/bye) for Container "web" in Pod "cart_shop(9f)" failed - error: Get "http://127.0.0.1:1/bye": dial tcp 127.0.0.1:1: connect: connection refused`
	if err == nil || out != want {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := r.Run(t.Context(), cart, web, "1", host, &v1.LifecycleHandler{TCPSocket: &v1.TCPSocketAction{}}); err == nil {
		t.Error("tcpSocket is no hook")
	}
}
