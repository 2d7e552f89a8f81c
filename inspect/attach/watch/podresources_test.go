package watch_test

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/watch"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
)

// lister is a kubelet's podresources API.
type lister struct {
	podresources.UnimplementedPodResourcesListerServer
	cpus atomic.Int64
}

func (l *lister) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	c := &podresources.ContainerResources{Name: "app", CpuIds: []int64{l.cpus.Load()}}
	return &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{{Namespace: "a", Name: "b", Containers: []*podresources.ContainerResources{c}}}}, nil
}

func (l *lister) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	return &podresources.AllocatableResourcesResponse{CpuIds: []int64{1, 2, 3}}, nil
}

// TestPodResources reads the podresources API of a kubelet beside its log: the log says that a pod was replaced by another one of its name, and
// the readers of the records learn what that one has.
func TestPodResources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, kubelet := filepath.Join(dir, "kubelet.sock"), filepath.Join(dir, "kubelet.log")
	listen, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l, s := &lister{}, grpc.NewServer()
	l.cpus.Store(1)
	podresources.RegisterPodResourcesListerServer(s, l)
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(listen) }()
	defer func() { s.Stop(); <-served }()

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy machine is asked less often
	defer cancel()
	put(t, kubelet, kubeletLine(`"SyncLoop ADD" source="api" pods=["a/b"]`))
	bus := trace.NewBus(0)
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	found := &discover.Found{
		Log: discover.Log{Kind: discover.LogFile, Path: kubelet, Open: kubelet}, Process: &discover.Process{PID: 1}, PodResources: socket,
		Config: discover.Config{Policies: discover.Policies{CPU: "static"}}, NUMA: []discover.NUMANode{{ID: 0, CPUs: "0-3"}},
	}
	w := watch.New(watch.Config{Found: found, Bus: bus, View: fstest.MapFS{"proc/1/stat": {Data: []byte("1 (kubelet) S 0 1")}}})
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	defer func() { cancel(); <-done }()

	m := model.New(model.Options{})
	until := func(what string, is func(r *model.Resources) bool) {
		t.Helper()
		for !is(m.Resources()) {
			recs, _, err := cur.Next(ctx, make([]trace.Record, 0, 1))
			if err != nil {
				t.Fatalf("%s: %v; got %+v", what, err, m.Resources())
			}
			m.Apply(&recs[0])
		}
	}
	has := func(cpus string) func(r *model.Resources) bool {
		return func(r *model.Resources) bool {
			return r.Reserved == "0" && r.CPUPolicy == "static" && len(r.Owners) == 1 && r.Owners[0].Pod.String() == "a/b" && r.Owners[0].CPUs.CPUs == cpus && r.Owners[0].CPUs.Nodes == "0"
		}
	}
	until("what the pod has at first", has("1"))
	l.cpus.Store(2)
	until("what it has then", has("2"))
	put(t, kubelet, kubeletLine(`"SyncLoop DELETE" source="api" pods=["a/b"]`), kubeletLine(`"SyncLoop REMOVE" source="api" pods=["a/b"]`))
	until("nothing once it is gone", func(r *model.Resources) bool { return len(r.Owners) == 0 })
	until("what the next pod of the name has", has("2"))
}
