package pluginwatch

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakePlugin is a plugin's registration service on a real socket.
type fakePlugin struct {
	registerapi.UnimplementedRegistrationServer
	kind, name string
	told       chan string
	srv        *grpc.Server
}

func (f *fakePlugin) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: f.kind, Name: f.name, Endpoint: "/csi/" + f.name, SupportedVersions: []string{"1.0.0"}}, nil
}

func (f *fakePlugin) NotifyRegistrationStatus(_ context.Context, s *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	f.told <- s.GetError()
	return &registerapi.RegistrationStatusResponse{}, nil
}

func serve(t *testing.T, path, kind, name string) *fakePlugin {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakePlugin{kind: kind, name: name, told: make(chan string, 10), srv: grpc.NewServer()}
	registerapi.RegisterRegistrationServer(f.srv, f)
	go func() { _ = f.srv.Serve(l) }()
	t.Cleanup(f.srv.Stop)
	return f
}

// handler records its calls, and fails for each error in fail.
type handler struct {
	calls chan string
	fail  chan error
}

func (h *handler) Register(_ context.Context, name, endpoint string, _ []string) error {
	h.calls <- "+" + name + " " + endpoint
	select {
	case err := <-h.fail:
		return err
	default:
		return nil
	}
}

func (h *handler) Deregister(_ context.Context, name, _ string) { h.calls <- "-" + name }

func next(t *testing.T, c chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(time.Minute):
		t.Fatal("nothing happened for a minute")
		return ""
	}
}

// A directory that cannot be watched is reported.
func TestUnwatched(t *testing.T) {
	dir, rec := t.TempDir(), tracetest.New(t)
	w, err := New(Config{Dir: dir, Handlers: map[string]Handler{"CSIPlugin": &handler{}}, Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := newWatcher()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Close(); err != nil { // no directory can be added from now on
		t.Fatal(err)
	}
	var under sync.WaitGroup
	w.pass(t.Context(), watch, &under)
	under.Wait()
	if d := tracetest.Events[trace.Decision](rec); len(d) != 1 || d[0].Verdict != trace.VerdictUnwatched || d[0].Subject != dir {
		t.Errorf("decisions %+v", d)
	}
}

func TestPluginsComeAndGo(t *testing.T) {
	dir, err := os.MkdirTemp("", "pw") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &handler{calls: make(chan string, 10), fail: make(chan error, 2)}
	w, err := New(Config{Dir: filepath.Join(dir, "registry"), Handlers: map[string]Handler{"CSIPlugin": h}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "registry"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := func(c chan string, s string) {
		t.Helper()
		if got := next(t, c); got != s {
			t.Fatalf("%q, want %q", got, s)
		}
	}
	early := serve(t, filepath.Join(dir, "registry", "a.sock"), "CSIPlugin", "a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	want(h.calls, "+a /csi/a")
	want(early.told, "")

	// One in a separate directory, which is refused at first, and then fails.
	h.fail <- &InvalidError{errors.New("version 0")}
	h.fail <- errors.New("not yet")
	if err := os.Mkdir(filepath.Join(dir, "registry", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	late := serve(t, filepath.Join(dir, "registry", "sub", "b.sock"), "CSIPlugin", "b")
	want(h.calls, "+b /csi/b")
	want(late.told, "RegisterPlugin error -- plugin validation failed with err: version 0")
	want(h.calls, "+b /csi/b")
	want(late.told, "RegisterPlugin error -- plugin registration failed with err: not yet")
	want(h.calls, "+b /csi/b")
	want(late.told, "")

	// A plugin of an unknown type is notified.
	path := filepath.Join(dir, "registry", "d.sock")
	odd := serve(t, path, "DevicePlugin", "d")
	want(odd.told, "RegisterPlugin error -- no handler registered for plugin type: DevicePlugin at socket "+path)

	// A restart: the socket is removed and created again.
	early.srv.Stop()
	again := serve(t, filepath.Join(dir, "registry", "a.sock"), "CSIPlugin", "a")
	want(h.calls, "-a")
	want(h.calls, "+a /csi/a")
	want(again.told, "")
	again.srv.Stop()
	want(h.calls, "-a")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
