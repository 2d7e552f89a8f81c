package kubeletpoll

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletapi"
	"github.com/kubeloupe/kubeloupe/trace"
)

// metrics are a kubelet's, in which n lists of containers took 14 s in all, and one creation.
func metrics(n int, sum float64, most5 int) []byte {
	return fmt.Appendf(nil, `# HELP kubelet_runtime_operations_duration_seconds [BETA] Duration
# TYPE kubelet_runtime_operations_duration_seconds histogram
kubelet_runtime_operations_duration_seconds_bucket{operation_type="list_containers",le="0.5"} 100
kubelet_runtime_operations_duration_seconds_bucket{operation_type="list_containers",le="5"} %d
kubelet_runtime_operations_duration_seconds_bucket{operation_type="list_containers",le="+Inf"} %d
kubelet_runtime_operations_duration_seconds_sum{operation_type="list_containers"} %g
kubelet_runtime_operations_duration_seconds_count{operation_type="list_containers"} %d
kubelet_runtime_operations_duration_seconds_bucket{operation_type="create_container",le="0.5"} 0
kubelet_runtime_operations_duration_seconds_bucket{operation_type="create_container",le="+Inf"} %d
kubelet_runtime_operations_duration_seconds_sum{operation_type="create_container"} 60
kubelet_runtime_operations_duration_seconds_count{operation_type="create_container"} %d
# TYPE kubelet_cgroup_manager_duration_seconds histogram
kubelet_cgroup_manager_duration_seconds_bucket{operation_type="update",le="0.5"} 7
kubelet_cgroup_manager_duration_seconds_bucket{operation_type="update",le="+Inf"} %d
kubelet_cgroup_manager_duration_seconds_sum{operation_type="update"} %g
kubelet_cgroup_manager_duration_seconds_count{operation_type="update"} %d
kubelet_cgroup_manager_duration_seconds_bucket{operation_type="destroy",le="+Inf"} %d
kubelet_cgroup_manager_duration_seconds_sum{operation_type="destroy"} 60
kubelet_cgroup_manager_duration_seconds_count{operation_type="destroy"} %d
# TYPE other_seconds histogram
other_seconds_bucket{le="1"} broken
`, most5, n, sum, n, n, n, n, sum, n, n, n)
}

func TestLongest(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		want time.Duration
	}{
		{"one that took 14 s", metrics(101, 14.5, 100), 14 * time.Second},
		{"two, of which one took 5 s at most", metrics(102, 12.5, 101), 7 * time.Second},
		{"four, of which one took long", metrics(104, 29.5, 103), 14 * time.Second},
		{"thirty, whose buckets allow more than they took", metrics(130, 14.5, 129), 5 * time.Second},
		{"three short ones", metrics(103, 0.53, 103), 500 * time.Millisecond},
		{"none", metrics(100, 0.5, 100), 0},
		{"another kubelet", metrics(3, 0.5, 3), 0},
	} {
		was, err := parse(metrics(100, 0.5, 100))
		if err != nil {
			t.Fatal(err)
		}
		now, err := parse(c.text)
		if err != nil || len(now) != 2 {
			t.Fatal(err, now)
		}
		h, before := now[operation{method: "ListContainers"}], was[operation{method: "ListContainers"}]
		if got := h.longest(&before); got.Round(time.Millisecond) != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// kubelet is one that answers; denied says what is refused.
func kubelet(t *testing.T, denied func(path string) bool) *kubeletapi.Client {
	t.Helper()
	asked := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer token" || denied(r.URL.Path):
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/configz":
			fmt.Fprint(w, `{"kubeletconfig": {"syncFrequency": "1m0s", "maxPods": 110, "logging": {"verbosity": 3}, "staticPodURLHeader": {"secret": ["x"]}}}`)
		case r.URL.Path == "/metrics":
			if asked++; asked == 1 {
				w.Write(metrics(100, 0.5, 100))
				return
			}
			w.Write(metrics(101, 14.5, 100))
		case r.URL.Path == "/healthz/syncloop":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "sync Loop took longer than expected")
		case r.URL.Path == "/pods":
			fmt.Fprint(w, `{"items": [{"metadata": {"namespace": "shop", "name": "web", "uid": "u1"}, "spec": {"containers": [{"name": "app"}]}, "status": {"phase": "Running"}}]}`)
		}
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	c := &kubeletapi.Client{Address: strings.TrimPrefix(s.URL, "https://"), Token: filepath.Join(dir, "token"), Pins: []string{filepath.Join(dir, "kubelet.crt")}}
	for name, text := range map[string]string{c.Token: "token\n", c.Pins[0]: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.TLS.Certificates[0].Certificate[0]}))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func always(c *kubeletapi.Client) func() *kubeletapi.Client {
	return func() *kubeletapi.Client { return c }
}

// TestStartedAgain asks the kubelet that runs now: one that was started again may have its files below another process.
func TestStartedAgain(t *testing.T) {
	first, second := kubelet(t, func(string) bool { return false }), kubelet(t, func(string) bool { return false })
	first.Pins = []string{filepath.Join(t.TempDir(), "kubelet.crt")} // its process has ended
	now := first
	p := New(func() *kubeletapi.Client { return now }, false)
	if err := p.Run(t.Context(), func(trace.Record) {}); err == nil || !strings.Contains(err.Error(), "serving certificate") {
		t.Errorf("without the certificate: %v", err)
	}
	now = nil
	if err := p.Run(t.Context(), func(trace.Record) {}); !errors.Is(err, errNone) {
		t.Errorf("without credentials: %v", err)
	}
	now = second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := p.Run(ctx, func(trace.Record) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRun asks a kubelet twice: settings, health, pods, and a call that took 14 s, of which 14 s less the time between the answers are sure.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	cgroups := 0
	p := New(always(kubelet(t, func(string) bool { return false })), true)
	err := p.Run(ctx, func(r trace.Record) {
		switch e := r.Event.(type) {
		case *trace.Log:
			got = append(got, strings.TrimSuffix(fmt.Sprint(e.Message, " ", e.Attrs), " []"))
		case *trace.PodStatus:
			got = append(got, fmt.Sprint(r.Pod, " ", e.Phase))
		case *trace.CRICall:
			got = append(got, e.Method)
			if r.Dur < 5*time.Second || r.Dur > 11500*time.Millisecond || time.Since(r.At()) < 2*time.Second {
				t.Errorf("got %v long, %v ago", r.Dur, time.Since(r.At()))
			}
			cancel()
		case *trace.CgroupOp:
			if e.Op != trace.CgroupUpdate || r.Dur.Round(time.Millisecond) != 14*time.Second || r.Precision.Duration() < 2*time.Second {
				t.Errorf("%+v, %v long, as exactly as %v", e, r.Dur, r.Precision.Duration())
			}
			cgroups++
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if cgroups != 1 {
		t.Errorf("%d slow operations on cgroups", cgroups)
	}
	want := []string{
		"attach: the kubelet's settings in use [{syncFrequency 1m0s} {maxPods 110} {logging.verbosity 3}]", "shop/web Running",
		"attach: the kubelet's check of its syncLoop fails: /healthz/syncloop: status 500: sync Loop took longer than expected", "shop/web Running", "ListContainers",
	}
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Error(diff)
	}
}

// TestDenied uses what is permitted, and says what is missing where nothing is.
func TestDenied(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := New(always(kubelet(t, func(string) bool { return true })), true)
	if err := p.Run(ctx, func(trace.Record) {}); !errors.Is(err, kubeletapi.ErrDenied) || !strings.Contains(err.Error(), "nodes/metrics") {
		t.Error(err)
	}
	p = New(always(kubelet(t, func(path string) bool { return path != "/pods" })), true)
	got, told := "", 0
	if err := p.Run(ctx, func(r trace.Record) {
		if e, ok := r.Event.(*trace.Log); ok {
			got += e.Message + "\n"
			return
		}
		if told++; told == 2 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, path := range []string{"/configz", "/metrics", "/healthz/syncloop"} {
		if !strings.Contains(got, "does not permit to read "+path+"\n") {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

// TestMetricsHang: pods are told of while the kubelet's metrics wait for its runtime.
func TestMetricsHang(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{})
	p := New(always(kubelet(t, func(path string) bool {
		if path == "/metrics" {
			close(asked)
			<-ctx.Done()
		}
		return false
	})), true)
	told := false
	go func() {
		<-asked
		cancel()
	}()
	if err := p.Run(ctx, func(r trace.Record) {
		_, is := r.Event.(*trace.PodStatus)
		told = told || is
	}); !errors.Is(err, context.Canceled) || !told {
		t.Error(err, told)
	}
}

// TestSilent has a kubelet not answer for 10 s, because its runtime does not answer. Of a call that took longer, that time is told; of one that
// took less, the part that is within the call wherever that lies.
func TestSilent(t *testing.T) {
	at := time.Unix(100, 0)
	for _, c := range []struct {
		took      float64
		want, end time.Duration
	}{
		{took: 15, want: 10 * time.Second, end: 13 * time.Second},
		{took: 8, want: 6 * time.Second, end: 11 * time.Second},
		{took: 5.4},
		{took: 29, want: 13 * time.Second}, // before it did not answer, too
	} {
		was, err := parse(metrics(100, 0.5, 100))
		if err != nil {
			t.Fatal(err)
		}
		now, err := parse(metrics(101, 0.5+c.took, 100))
		if err != nil {
			t.Fatal(err)
		}
		var got, end time.Duration
		p := New(nil, false)
		p.put = func(r trace.Record) {
			if e, ok := r.Event.(*trace.CRICall); ok && e.Method == "ListContainers" {
				got, end = r.Dur, r.At().Sub(at)
			}
		}
		p.last, p.asked, p.silent, p.silentTo = was, at, at.Add(3*time.Second), at.Add(13*time.Second)
		if p.slow(now, at.Add(16*time.Second)); got != c.want || end != c.end {
			t.Errorf("a call of %v s: %v until %v, want %v until %v", c.took, got, end, c.want, c.end)
		}
	}
}
