package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthalpha "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	gpus = "gpu.example.com"
	v1   = drapb.DRAPluginService
	beta = drabeta.DRAPluginService
)

// The newest version that both have is used, whatever the order in which the plugin lists them.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		versions []string
		want     string
	}{
		{[]string{v1}, v1},
		{[]string{beta}, beta},
		{[]string{beta, v1}, v1},
		{[]string{"v2.DRAPlugin", beta, healthapi.DRAResourceHealthService}, beta},
		{nil, "empty list of supported gRPC services (aka supported versions)"},
		{[]string{"v1alpha3", "1.0.0"}, `none of services supported by the plugin ("v1alpha3 1.0.0") are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])`},
	} {
		got, err := choose(c.versions)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.versions, got, c.want)
		}
	}
	if got := first(healthServices, []string{healthalpha.DRAResourceHealthService, healthapi.DRAResourceHealthService}); got != healthapi.DRAResourceHealthService {
		t.Error(got)
	}
}

type plugin struct {
	drapb.UnimplementedDRAPluginServer
	name string
}

func (p *plugin) NodePrepareResources(_ context.Context, req *drapb.NodePrepareResourcesRequest) (*drapb.NodePrepareResourcesResponse, error) {
	return nil, errors.New(p.name + " " + req.Claims[0].Name)
}

func serve(t *testing.T, socket, name string) *grpc.Server {
	t.Helper()
	_ = os.Remove(socket)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	drapb.RegisterDRAPluginServer(srv, &plugin{name: name})
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	return srv
}

// run runs Drivers until the test ends.
func run(t *testing.T, d *Drivers) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := d.Register(context.Background(), gpus, "/x", []string{v1}); !errors.Is(err, errEnding) {
			t.Errorf("registered after the end: %v", err)
		}
	})
}

func TestRegister(t *testing.T) {
	rec := tracetest.New(t)
	d, err := New(Config{NodeName: "node", Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	run(t, d)
	for _, c := range []struct{ name, socket, want string }{
		{"", "/x", `the name of DRA driver "" is invalid`},
		{"A B", "/x", `the name of DRA driver "A B" is invalid`},
		{strings.Repeat("x", 1000), "/x", "is invalid"},
		{gpus, "x", "want an absolute path"},
		{gpus, "/" + strings.Repeat("x", 200), "want an absolute path of at most 107 bytes"},
		{gpus, "/x", ""},
		{gpus, "/x", "endpoint /x already registered for DRA driver plugin gpu.example.com"},
		{"other.example.com", "/x", ""},
	} {
		err := d.Register(t.Context(), c.name, c.socket, []string{v1})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000) {
			t.Errorf("%s %s: %v, want %s", c.name, c.socket, err, c.want)
		}
	}
	if err := d.Register(t.Context(), gpus, "/y", []string{"v0"}); err == nil || !strings.HasPrefix(err.Error(), "invalid supported gRPC versions of DRA driver plugin gpu.example.com at endpoint /y: none of services") {
		t.Error(err)
	} else if _, invalid := errors.AsType[*pluginwatch.InvalidError](err); !invalid {
		t.Errorf("%v is not an InvalidError", err)
	}
	for i := range maxPlugins - 2 {
		if err := d.Register(t.Context(), gpus, fmt.Sprintf("/x%d", i), []string{v1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Register(t.Context(), gpus, "/more", []string{v1}); err == nil || !strings.Contains(err.Error(), "256 plugins of DRA drivers are registered already") {
		t.Error(err)
	}
	d.Deregister(t.Context(), gpus, "/none")
	d.Deregister(t.Context(), gpus, "/x")
	if err := d.Register(t.Context(), gpus, "/more", []string{v1}); err != nil {
		t.Error(err)
	}
	refused := 0
	for _, e := range tracetest.Events[trace.DRAPlugin](rec) {
		if e.Op == trace.DRARefused {
			refused++
		}
	}
	if refused != 8 {
		t.Errorf("%d refusals", refused)
	}
}

// Of several plugins of a driver, the newest one that is connected is called.
func TestSeveral(t *testing.T) {
	dir, err := os.MkdirTemp("", "drv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	usable := make(chan string, 100)
	d, err := New(Config{NodeName: "node", Usable: func(name string) { usable <- name }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(gpus); err == nil || err.Error() != "DRA driver gpu.example.com is not registered" {
		t.Error(err)
	}
	if _, err := d.Get(""); err == nil || err.Error() != "DRA driver name is empty" {
		t.Error(err)
	}
	run(t, d)
	is := func(want string) {
		t.Helper()
		var got string
		for range 1000 {
			p, err := d.Get(gpus)
			if err != nil {
				got = err.Error()
			} else if _, err := p.Prepare(t.Context(), []*drapb.Claim{{Name: "a"}}); err != nil {
				got = err.Error()
			}
			if strings.Contains(got, want) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("got %s, want %s", got, want)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	register := func(name string) {
		t.Helper()
		if err := d.Register(t.Context(), gpus, at(name), []string{v1}); err != nil {
			t.Fatal(err)
		}
	}
	old := serve(t, at("old"), "old")
	register("old")
	is("desc = old a")
	register("new") // it does not serve yet
	is("desc = old a")
	serve(t, at("new"), "new")
	is("desc = new a")
	d.Deregister(t.Context(), gpus, at("new"))
	is("desc = old a")
	old.Stop()
	is("Unavailable")
	serve(t, at("old"), "again")
	is("desc = again a")
	d.Deregister(t.Context(), gpus, at("old"))
	is("is not registered")
	if name := <-usable; name != gpus {
		t.Error(name)
	}
}

// fakeSlices is the API of ResourceSlices.
type fakeSlices struct {
	mu   sync.Mutex
	errs []error // of the next requests
	got  []string
}

func (s *fakeSlices) DeleteCollection(ctx context.Context, _ metav1.DeleteOptions, list metav1.ListOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("no deadline")
	}
	s.got = append(s.got, list.FieldSelector)
	if len(s.errs) == 0 {
		return nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return err
}

// took returns the requests since the last time.
func (s *fakeSlices) took() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := strings.Join(s.got, " ")
	s.got = nil
	return out
}

// ResourceSlices are deleted at the start, and of a driver that was not usable for 30 s.
func TestWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one = "spec.driver=gpu.example.com,spec.nodeName=node"
		rec := tracetest.New(t)
		s := &fakeSlices{errs: []error{errors.New("forbidden"), errors.New("forbidden")}}
		w := wiper{cfg: Config{NodeName: "node", Slices: s, Bus: rec.Bus()}, pending: map[string]*pending{}}
		ctx, cancel := context.WithCancel(t.Context())
		w.note(gpus, false) // before Run
		w.start(ctx)
		is := func(want string) {
			t.Helper()
			if got := s.took(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		is("spec.nodeName=node")
		time.Sleep(3*time.Second + time.Millisecond) // 1 s and 2 s
		is("spec.nodeName=node spec.nodeName=node")
		w.note(gpus, false)
		time.Sleep(20 * time.Second)
		w.note(gpus, false) // the first time counts
		time.Sleep(9 * time.Second)
		is("")
		time.Sleep(2 * time.Second)
		is(one)
		time.Sleep(time.Hour)
		is("")
		w.note(gpus, false) // it came and went
		time.Sleep(20 * time.Second)
		w.note(gpus, true)
		time.Sleep(time.Hour)
		is("")
		s.errs = []error{errors.New("down"), apierrors.NewNotFound(metav1.Unversioned.WithResource("resourceslices").GroupResource(), "x")}
		w.note(gpus, false)
		time.Sleep(time.Hour)
		is(one + " " + one)
		s.errs = []error{errors.New("down"), errors.New("down"), errors.New("down")}
		w.note(gpus, false)
		time.Sleep(31 * time.Second)
		w.note(gpus, true) // it is usable again, so the retries end
		time.Sleep(time.Hour)
		if got := s.took(); !strings.HasPrefix(got, one) || strings.Count(got, "driver") > 2 {
			t.Errorf("got %q", got)
		}
		for i := range maxPending + 10 {
			w.note(fmt.Sprint(i), false)
		}
		if len(w.pending) != maxPending {
			t.Errorf("%d pending", len(w.pending))
		}
		cancel()
		w.note("late", false)
		w.wait()
		var said []string
		for _, e := range tracetest.Events[trace.DRAPlugin](rec) {
			said = append(said, strings.TrimSpace(e.Driver+" "+e.Err))
		}
		if got := strings.Join(said, "; "); got != "forbidden; ; gpu.example.com; gpu.example.com down; gpu.example.com; gpu.example.com down" {
			t.Errorf("said %s", got)
		}
	})
}

// A standalone node has no ResourceSlices.
func TestNoSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := wiper{cfg: Config{NodeName: "node"}, pending: map[string]*pending{}}
		w.start(t.Context())
		w.note(gpus, false)
		w.wait()
		if len(w.pending) > 0 {
			t.Error("a deletion is pending")
		}
	})
	if _, err := New(Config{}); err == nil {
		t.Error("took an empty Config")
	}
}

// A registration waits for Run, and not for ever.
func TestEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(Config{NodeName: "node"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := d.Register(t.Context(), gpus, "/x", []string{v1}); !errors.Is(err, errEnding) || time.Since(began) != startTimeout {
			t.Error(err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Register(ctx, gpus, "/x", []string{v1}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
