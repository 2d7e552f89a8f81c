package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func testServer(t *testing.T, loop error) *Server {
	t.Helper()
	s, err := New(Config{
		Pod: func(string, string) *v1.Pod { return nil },
		Pods: func() []v1.Pod {
			return []v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}}
		},
		Checks: []Check{{Name: "syncloop", Check: func() error { return loop }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHealth(t *testing.T) {
	stuck := errors.New("stuck for 3m")
	for _, c := range []struct {
		name, path string
		loop       error
		code       int
		body       string
	}{
		{"all well", "/healthz", nil, 200, "ok"},
		{"verbose", "/healthz?verbose", nil, 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"},
		{"one fails", "/healthz", stuck, 500, "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"},
		{"unknown exclusions", "/healthz?verbose&exclude=z&exclude=ping&exclude=a&exclude=z", nil, 200, "[+]ping excluded: ok\n[+]log ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for \"a\",\"z\"\nhealthz check passed\n"},
		{"excluded", "/healthz?exclude=syncloop", stuck, 200, "ok"},
		{"by name", "/healthz/syncloop", stuck, 500, "internal server error: stuck for 3m\n"},
		{"ping", "/healthz/ping", stuck, 200, "ok"},
		{"no such check", "/healthz/nope", nil, 404, "404 page not found\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			testServer(t, c.loop).readOnly().ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, nil))
			if w.Code != c.code || w.Body.String() != c.body {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.code, c.body)
			}
		})
	}
}

// The health port says only that the process answers.
func TestHealthPort(t *testing.T) {
	h := testServer(t, errors.New("stuck for 3m")).health()
	for path, want := range map[string]string{
		"/healthz": "ok", "/healthz?verbose": "[+]ping ok\nhealthz check passed\n", "/healthz/ping": "ok", "/healthz/syncloop": "404 page not found\n", "/pods": "404 page not found\n",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Body.String() != want {
			t.Errorf("%s: %q, want %q", path, w.Body, want)
		}
	}
}

// Why a check fails is published when it changes, however often somebody asks.
func TestFailedHealthIsPublished(t *testing.T) {
	s := testServer(t, nil)
	rec := tracetest.New(t)
	s.cfg.Bus = rec.Bus()
	var loop error
	s.cfg.Checks = []Check{{Name: "syncloop", Check: func() error { return loop }}}
	h := s.readOnly()
	for _, loop = range []error{nil, errors.New("a"), errors.New("a"), errors.New("b"), nil, errors.New("b")} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz", nil))
	}
	var got []string
	for _, l := range tracetest.Events[trace.Log](rec) {
		got = append(got, fmt.Sprint(l.Level, " ", l.Message, " ", l.Attrs))
	}
	want := []string{"warn healthz check failed [{syncloop a}]", "warn healthz check failed [{syncloop b}]", "warn healthz check failed [{syncloop b}]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPodsOverTheNetwork(t *testing.T) {
	s := testServer(t, nil)
	s.cfg.Address, s.cfg.ReadOnlyPort = "127.0.0.1", freePort(t)
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	url := "http://" + s.Addresses()[0]

	res, err := http.Get(url + "/pods") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list v1.PodList
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "PodList" || len(list.Items) != 2 || list.Items[0].Name != "a" {
		t.Errorf("got %+v", list)
	}
	post, err := http.Post(url+"/pods", "", nil) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer post.Body.Close()
	if post.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST answered %d", post.StatusCode)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url + "/pods"); err == nil { //nolint:noctx,bodyclose // nothing answers
		t.Error("it still listens")
	}
}

// The read-only port serves what needs no authorization with the methods that upstream serves, and says of the rest that it is disabled.
func TestReadOnlyPort(t *testing.T) {
	s := testServer(t, nil)
	s.cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, "metrics") })
	h := s.open()
	disabled := "Debug endpoints are disabled.\n"
	for _, c := range []struct {
		method, path string
		code         int
		body         string // what the response begins with
	}{
		{"GET", "/pods", 200, `{"kind":"PodList"`},
		{"POST", "/pods", 405, ""},
		{"POST", "/healthz", 200, "ok"},
		{"POST", "/metrics", 200, "metrics"},
		{"PUT", "/stats/summary", 405, ""},
		{"GET", "/configz", 404, ""},
		{"POST", "/checkpoint/shop/a/c", 404, ""},
		{"POST", "/run/shop/a/c", 405, disabled},
		{"POST", "/exec/shop/a/c", 405, disabled},
		{"GET", "/attach/shop/a/c", 405, disabled},
		{"POST", "/portForward/shop/a", 405, disabled},
		{"GET", "/containerLogs/shop/a/c", 405, disabled},
		{"GET", "/runningpods/", 405, disabled},
		{"GET", "/debug/pprof/", 405, disabled},
		{"GET", "/logs/", 405, disabled},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.code || !strings.HasPrefix(w.Body.String(), c.body) {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, w.Code, w.Body, c.code, c.body)
		}
	}
}

func TestPortInUseNamesFlagAndRemedy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := testServer(t, nil)
	s.cfg.HealthzAddress, s.cfg.HealthzPort = "127.0.0.1", int32(l.Addr().(*net.TCPAddr).Port)
	err = s.Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--healthz-port") || !strings.Contains(err.Error(), "remedy") {
		t.Errorf("error %v", err)
	}
}

func TestOffServesNothing(t *testing.T) {
	s := testServer(t, nil)
	if err := s.Listen(t.Context()); err != nil || len(s.Addresses()) != 0 {
		t.Errorf("%v, %v", s.Addresses(), err)
	}
}

// given are the ports that freePort has returned.
var given sync.Map

// freePort returns a port that nobody has, and each only once. It is none of those that the kernel gives to whoever wants any: another
// test could get it before it is in use here.
func freePort(t *testing.T) int32 {
	t.Helper()
	for range 1000 {
		port := 20_000 + rand.Int32N(10_000)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // a test
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// A client that keeps a request open does not prevent the agent from stopping.
func TestSlowClientAtTheEnd(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	s, err := New(Config{
		Pods: func() []v1.Pod { return nil }, Pod: func(string, string) *v1.Pod { return nil }, Address: "127.0.0.1", ReadOnlyPort: freePort(t),
		Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked); <-over }),
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
	go func() {
		if res, err := http.Get("http://" + s.Addresses()[0] + "/metrics"); err == nil { //nolint:noctx // a test
			_ = res.Body.Close()
		}
	}()
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("the request does not come within a minute")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// If a listener fails, the server stops with its error.
func TestListenerFails(t *testing.T) {
	s := testServer(t, nil)
	s.cfg.HealthzAddress, s.cfg.HealthzPort = "127.0.0.1", freePort(t)
	s.cfg.Address, s.cfg.ReadOnlyPort = "127.0.0.1", freePort(t)
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.serves[1].listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v, want that the listener is closed", err)
	}
}
