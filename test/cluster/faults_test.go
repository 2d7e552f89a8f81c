package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// faulty is a proxy in front of the API server, for the node alone.
type faulty struct {
	*httptest.Server
	percent atomic.Int64 // of the requests that fail
	only    atomic.Value // string: part of the paths of those that may
	codes   atomic.Pointer[[]int]
	failed  atomic.Int64
}

func (b *bench) faulty(t *testing.T) *faulty {
	t.Helper()
	config, err := b.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + lab.NodeName, Groups: []string{"system:nodes", "system:authenticated"}}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(b.Server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	f := &faulty{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		only, _ := f.only.Load().(string)
		if rand.N(int64(100)) >= f.percent.Load() || !strings.Contains(r.URL.Path, only) {
			proxy.ServeHTTP(w, r)
			return
		}
		f.failed.Add(1)
		codes := *f.codes.Load()
		code := codes[rand.N(len(codes))]
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "injected", code)
	}))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// bad lets requests fail, and ends those that continue.
func (f *faulty) bad(percent int64, codes ...int) {
	f.codes.Store(&codes)
	f.percent.Store(percent)
	f.CloseClientConnections()
}

// node is an agent behind the proxy, with a changed configuration.
func (f *faulty) node(t *testing.T, b *bench, state string, change func(map[string]any)) lab.AgentConfig {
	t.Helper()
	config, err := b.WriteKubeletConfig(state, func(c map[string]any) {
		c["rotateCertificates"] = false
		change(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.nodePath(state), 0o755); err != nil {
		t.Fatal(err)
	}
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, f.URL)
	if err := os.WriteFile(b.nodePath(state, "kubeconfig"), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return lab.AgentConfig{State: state, KubeletConfig: config, Args: []string{"--bootstrap-kubeconfig="}}
}

// TestFaults puts an API server between that fails: the agent backs off, tells so, and comes through.
func TestFaults(t *testing.T) {
	b := setup(t)
	f := b.faulty(t)
	b.alone(t) // so that the agent ends before the server waits for its requests
	cfg := f.node(t, b, "faults", func(map[string]any) {})
	f.bad(100, http.StatusServiceUnavailable)
	a := b.start(t, cfg)
	time.Sleep(3 * time.Second)
	if !a.Alive() {
		t.Fatalf("it does not wait for its API server: %s", a.said())
	}
	f.bad(0)
	a.ready()

	s := b.space(t)
	s.create(pod("before", forever))
	s.ready("before")
	was, err := s.get("before")
	if err != nil {
		t.Fatal(err)
	}
	// All fail for a while, each in its way; a watch must not be tried without a pause.
	f.failed.Store(0)
	since := time.Now()
	f.bad(100, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable)
	time.Sleep(8 * time.Second)
	failed := f.failed.Load()
	if rate := float64(failed) / time.Since(since).Seconds(); failed == 0 || rate > 12 {
		t.Errorf("%.1f requests a second to an API server that fails", rate)
	}
	pauses := map[string][]string{}
	watch := "the API server, to watch pods"
	eventually(t, "the watch to back off three times", func() string {
		clear(pauses)
		for _, r := range a.find(func(r *trace.Record) bool { return r.At().After(since) && r.Edge == trace.EdgeBegin }) {
			if w, ok := r.Event.(*trace.Wait); ok && w.For == trace.WaitBackoff {
				pauses[say.On(w)] = append(pauses[say.On(w)], say.Detail(w, r.Start()))
			}
		}
		if n := len(pauses[watch]); n < 3 {
			return fmt.Sprintf("%d times", n)
		}
		return ""
	})
	for on, details := range pauses {
		t.Logf("back-off %s: %d times", on, len(details))
	}
	if list := pauses[watch]; list[0] == list[1] {
		t.Errorf("back-offs of the watch: %q", list)
	}
	// Every other request fails while pods come and go.
	f.bad(50, http.StatusTooManyRequests, http.StatusInternalServerError)
	with := withVolumes("during", forever)
	s.create(with, pod("short", forever))
	s.ready("during", "short")
	s.delete(-1, "short")
	eventually(t, "the end of a pod", func() string {
		if p, err := s.get("short"); err == nil {
			return short(p)
		}
		return ""
	})
	f.bad(0)
	now := s.wait("before", "ready", isReady)
	if identity(now) != identity(was) {
		t.Errorf("%s is %s", identity(was), identity(now))
	}
	list, err := b.client.CoreV1().Pods(s.name).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase!=" + string(v1.PodRunning)})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%d pods do not run, %v", len(list.Items), err)
	}
}
