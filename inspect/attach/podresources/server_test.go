package podresources

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// kubelet is a server of the API.
type kubelet struct {
	api.UnimplementedPodResourcesListerServer
	list func(context.Context) (*api.ListPodResourcesResponse, error)
}

func (k *kubelet) List(ctx context.Context, _ *api.ListPodResourcesRequest) (*api.ListPodResourcesResponse, error) {
	return k.list(ctx)
}

// serve starts a server at a path; stop ends it.
func serve(t *testing.T, socket string, list func(context.Context) (*api.ListPodResourcesResponse, error)) (stop func()) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	api.RegisterPodResourcesListerServer(s, &kubelet{list: list})
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	return func() { s.Stop(); <-done }
}

// TestServers asks servers on a unix socket that do what a kubelet should not.
func TestServers(t *testing.T) {
	db := list(pod("db", &api.ContainerResources{Name: "sql", CpuIds: []int64{2}}))
	for name, c := range map[string]struct {
		list func(context.Context) (*api.ListPodResourcesResponse, error)
		code codes.Code
		rest bool
	}{
		"hangs": {func(ctx context.Context) (*api.ListPodResourcesResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, codes.DeadlineExceeded, false},
		"is too large": {func(context.Context) (*api.ListPodResourcesResponse, error) {
			return list(pod(strings.Repeat("x", maxMessage))), nil
		}, codes.ResourceExhausted, true},
		"refuses": {func(context.Context) (*api.ListPodResourcesResponse, error) {
			return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}, codes.ResourceExhausted, true},
		"does not know the call": {func(context.Context) (*api.ListPodResourcesResponse, error) {
			return nil, status.Error(codes.Unimplemented, "unknown service v1.PodResourcesLister")
		}, codes.Unimplemented, true},
		"is not there": {nil, codes.Unavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "kubelet.sock")
			if c.list != nil {
				defer serve(t, socket, c.list)()
			}
			p := New(socket, Machine{})
			if p.deadline = time.Minute; c.code == codes.DeadlineExceeded {
				p.deadline = time.Second
			}
			var got []string
			err := p.Run(t.Context(), func(r trace.Record) { got = append(got, tell(&r)) })
			if err == nil || !strings.Contains(err.Error(), c.code.String()) || p.rest != c.rest {
				t.Errorf("got %v, rest %t; want %v", err, p.rest, c.code)
			}
			if want := "attach: the podresources API does not say what the node can give to containers"; !slices.Equal(got, []string{want}) {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("restarts", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "kubelet.sock")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		answer := func(context.Context) (*api.ListPodResourcesResponse, error) { return db, nil }
		stop := serve(t, socket, answer)
		var mu sync.Mutex
		var got []string
		first := make(chan struct{})
		p := New(socket, Machine{})
		put := func(r trace.Record) {
			mu.Lock()
			defer mu.Unlock()
			switch got = append(got, tell(&r)); got[len(got)-1] {
			case "ml/db/sql: kept cpu 2 on ":
				close(first)
			case "ml/db/sql: released cpu unlisted 2 on ":
				cancel()
			}
		}
		done := make(chan error)
		go func() { done <- p.Run(ctx, put) }()
		<-first
		stop()
		p.See(&trace.Record{Event: &trace.Milestone{Name: trace.MilestoneSeen}}) // it asks again after two seconds
		if err := <-done; err == nil || !strings.Contains(err.Error(), codes.Unavailable.String()) {
			t.Errorf("got %v", err)
		}
		defer serve(t, socket, func(context.Context) (*api.ListPodResourcesResponse, error) { return list(), nil })()
		if err := p.Run(ctx, put); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v: %q", err, got)
		}
	})
}
