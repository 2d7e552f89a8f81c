package device

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const gpu = "example.com/gpu"

// fakePlugin is a device plugin on a real socket.
type fakePlugin struct {
	pluginapi.UnimplementedDevicePluginServer
	options pluginapi.DevicePluginOptions
	lists   chan []*pluginapi.Device
	// allocate and prefer answer calls; nil means a usual answer.
	allocate func(ctx context.Context, ids []string) (*pluginapi.AllocateResponse, error)
	prefer   func(req *pluginapi.ContainerPreferredAllocationRequest) ([]string, error)

	mu      sync.Mutex
	started [][]string
	srv     *grpc.Server
}

func (f *fakePlugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &f.options, nil
}

func (f *fakePlugin) ListAndWatch(_ *pluginapi.Empty, s grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	for {
		select {
		case <-s.Context().Done():
			return nil
		case all, ok := <-f.lists:
			if !ok {
				return nil
			}
			if err := s.Send(&pluginapi.ListAndWatchResponse{Devices: all}); err != nil {
				return err
			}
		}
	}
}

func (f *fakePlugin) Allocate(ctx context.Context, req *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	ids := req.ContainerRequests[0].DevicesIds
	if f.allocate != nil {
		return f.allocate(ctx, ids)
	}
	return answer(ids), nil
}

func answer(ids []string) *pluginapi.AllocateResponse {
	c := &pluginapi.ContainerAllocateResponse{Envs: map[string]string{"DEVICES": fmt.Sprint(ids)}}
	for _, id := range ids {
		c.Devices = append(c.Devices, &pluginapi.DeviceSpec{HostPath: "/dev/null", ContainerPath: "/dev/" + id, Permissions: "rw"})
	}
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{c}}
}

func (f *fakePlugin) GetPreferredAllocation(_ context.Context, req *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	ids, err := f.prefer(req.ContainerRequests[0])
	return &pluginapi.PreferredAllocationResponse{ContainerResponses: []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: ids}}}, err
}

func (f *fakePlugin) PreStartContainer(_ context.Context, req *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, req.DevicesIds)
	return &pluginapi.PreStartContainerResponse{}, nil
}

// serve starts the plugin at a socket of that name.
func (f *fakePlugin) serve(t *testing.T, dir, name string) {
	t.Helper()
	if f.lists == nil {
		f.lists = make(chan []*pluginapi.Device, 10)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	f.srv = grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(f.srv, f)
	go func() { _ = f.srv.Serve(l) }()
	t.Cleanup(f.srv.Stop)
}

// register registers a plugin with the kubelet's socket.
func register(t *testing.T, dir, resource, endpoint string) error {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(dir, Socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = pluginapi.NewRegistrationClient(conn).Register(t.Context(), &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: endpoint, ResourceName: resource,
	}, grpc.WaitForReady(true))
	return err
}

// node is a manager with what it asks about pods.
type node struct {
	*Manager
	dir string
	rec *tracetest.Recorder

	mu             sync.Mutex
	ended, running map[types.UID]bool
	exists         map[types.UID]bool
	active         []*v1.Pod
	hurt           []types.UID
	early          bool // sources have not reported
	notes          chan struct{}
	stop           func()
}

func newNode(t *testing.T, dir string) *node {
	t.Helper()
	n := &node{dir: dir, rec: tracetest.New(t), ended: map[types.UID]bool{}, running: map[types.UID]bool{}, exists: map[types.UID]bool{}, notes: make(chan struct{}, 100)}
	note := func() {
		select {
		case n.notes <- struct{}{}:
		default:
		}
	}
	m, err := New(Config{
		Dir: dir,
		Ended: func(uid types.UID) bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.ended[uid]
		},
		Complete: func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return !n.early
		},
		Active: func() []*v1.Pod {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.active
		},
		Runs: func(uid types.UID) bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.running[uid]
		},
		Exists: func(uid types.UID) bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.exists[uid] || n.running[uid]
		},
		NUMANodes: []int{0, 1},
		Changed:   note,
		HealthChanged: func(uids []types.UID) {
			n.mu.Lock()
			n.hurt = append(n.hurt, uids...)
			n.mu.Unlock()
			note()
		},
		Bus: n.rec.Bus(),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Manager = m
	return n
}

// run restores and runs the manager until the test ends, or stop is called.
func (n *node) run(t *testing.T) *node {
	t.Helper()
	if err := n.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

// await waits until the resource has that many devices, and that many healthy ones.
func (n *node) await(t *testing.T, name string, all, healthy int64) {
	t.Helper()
	n.until(t, fmt.Sprintf("%d of %d healthy %s", healthy, all, name), func() bool {
		c, a := n.Capacity()
		qc, has := c[v1.ResourceName(name)]
		qa := a[v1.ResourceName(name)]
		return has && qc.Value() == all && qa.Value() == healthy
	})
}

// until waits for a condition that the manager's notes may fulfill.
func (n *node) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-n.notes:
		case <-tick.C:
		case <-late:
			c, a := n.Capacity()
			t.Fatalf("no %s within a minute; capacity %v, allocatable %v", what, c, a)
		}
	}
}

// events returns the allocations that were published.
func (n *node) events() []trace.DeviceAllocation {
	return tracetest.Events[trace.DeviceAllocation](n.rec)
}

// shortDir returns a directory whose sockets' paths are short enough.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "device-plugins")
}

func healthy(ids ...string) (out []*pluginapi.Device) {
	for _, id := range ids {
		out = append(out, &pluginapi.Device{ID: id, Health: pluginapi.Healthy})
	}
	return out
}

// on returns a healthy device on NUMA nodes.
func on(id string, nodes ...int64) *pluginapi.Device {
	d := &pluginapi.Device{ID: id, Health: pluginapi.Healthy, Topology: &pluginapi.TopologyInfo{}}
	for _, n := range nodes {
		d.Topology.Nodes = append(d.Topology.Nodes, &pluginapi.NUMANode{ID: n})
	}
	return d
}

// asks is a container that needs so many devices.
func asks(name string, n int64, restartable ...v1.ContainerRestartPolicy) v1.Container {
	c := v1.Container{Name: name}
	if n > 0 {
		c.Resources.Limits = v1.ResourceList{gpu: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	if len(restartable) > 0 {
		c.RestartPolicy = &restartable[0]
	}
	return c
}

// podOf is a pod with init containers, which end at the first app container: those after nil.
func podOf(uid string, inits []v1.Container, apps ...v1.Container) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: uid, UID: types.UID(uid)},
		Spec:       v1.PodSpec{InitContainers: inits, Containers: apps},
	}
}

// Reserve reserves the devices of a pod as the topology manager does without a policy. If that fails, the pod has none.
func (n *node) Reserve(ctx context.Context, pod *v1.Pod) error {
	return reserve(ctx, n.Manager, pod, topology.Hint{})
}

// reserve reserves the devices of a pod, from those NUMA nodes.
func reserve(ctx context.Context, m *Manager, pod *v1.Pod, affinity topology.Hint) error {
	for _, c := range containers(pod) {
		if err := m.Provider().Allocate(ctx, pod, c, affinity); err != nil {
			m.Release(pod.UID)
			return err
		}
	}
	return nil
}

// start reserves and allocates the devices of a pod.
func (n *node) start(t *testing.T, pod *v1.Pod) {
	t.Helper()
	if err := n.Reserve(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := n.Allocate(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// has returns the sorted devices of a container.
func (n *node) has(uid types.UID, container string) []string {
	n.Manager.mu.Lock()
	defer n.Manager.mu.Unlock()
	if one := n.holds.get(uid, container, gpu); one != nil {
		return slices.Clone(one.ids)
	}
	return nil
}

// offered returns how many devices there are for a pod on a node whose status has 7; "" if that is not known.
func (n *node) offered(uid types.UID) string {
	all := v1.ResourceList{gpu: resource.MustParse("7")}
	n.Offer(uid, all)
	q, known := all[gpu]
	if !known {
		return ""
	}
	return q.String()
}
