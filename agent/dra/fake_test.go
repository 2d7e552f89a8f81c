package dra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthalpha "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	gpus = "gpu.example.com"
	nics = "nic.example.com"
)

// fakeDriver is a DRA driver on a real socket.
type fakeDriver struct {
	drapb.UnimplementedDRAPluginServer
	healthapi.UnimplementedDRAResourceHealthServer
	name   string
	health chan []*healthapi.DeviceHealth // what it reports; nil: it does not
	// prepare and unprepare answer calls; nil means a usual answer.
	prepare   func(ctx context.Context, claims []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error)
	unprepare func(ctx context.Context, claims []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error)

	mu    sync.Mutex
	calls []string // "prepare a b"
	srv   *grpc.Server
}

func (f *fakeDriver) note(op string, claims []*drapb.Claim) {
	for _, c := range claims {
		op += " " + c.Name
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, op)
}

// took returns the calls since the last time.
func (f *fakeDriver) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

func (f *fakeDriver) NodePrepareResources(ctx context.Context, req *drapb.NodePrepareResourcesRequest) (*drapb.NodePrepareResourcesResponse, error) {
	f.note("prepare", req.Claims)
	if f.prepare != nil {
		return f.prepare(ctx, req.Claims)
	}
	return prepared(f.name, req.Claims), nil
}

// prepared is a usual answer: two devices for each claim, the second one for the request "two" only.
func prepared(driver string, claims []*drapb.Claim) *drapb.NodePrepareResourcesResponse {
	out := &drapb.NodePrepareResourcesResponse{Claims: map[string]*drapb.NodePrepareResourceResponse{}}
	for _, c := range claims {
		cdi := func(n string) []string { return []string{driver + "/c=" + c.Name + "-" + n} }
		out.Claims[c.Uid] = &drapb.NodePrepareResourceResponse{Devices: []*drapb.Device{
			{PoolName: "pool", DeviceName: c.Name + "-0", RequestNames: []string{"one"}, CdiDeviceIds: cdi("0")},
			{PoolName: "pool", DeviceName: c.Name + "-1", RequestNames: []string{"two"}, CdiDeviceIds: cdi("1")},
		}}
	}
	return out
}

func (f *fakeDriver) NodeUnprepareResources(ctx context.Context, req *drapb.NodeUnprepareResourcesRequest) (*drapb.NodeUnprepareResourcesResponse, error) {
	f.note("unprepare", req.Claims)
	if f.unprepare != nil {
		return f.unprepare(ctx, req.Claims)
	}
	out := &drapb.NodeUnprepareResourcesResponse{Claims: map[string]*drapb.NodeUnprepareResourceResponse{}}
	for _, c := range req.Claims {
		out.Claims[c.Uid] = &drapb.NodeUnprepareResourceResponse{}
	}
	return out, nil
}

func (f *fakeDriver) NodeWatchResources(_ *healthapi.NodeWatchResourcesRequest, s healthapi.DRAResourceHealth_NodeWatchResourcesServer) error {
	for {
		select {
		case <-s.Context().Done():
			return nil
		case all, ok := <-f.health:
			if !ok {
				return nil
			}
			if err := s.Send(&healthapi.NodeWatchResourcesResponse{Devices: all}); err != nil {
				return err
			}
		}
	}
}

// serve starts the driver at a socket, with the services of both versions.
func (f *fakeDriver) serve(t *testing.T, socket string) {
	t.Helper()
	_ = os.Remove(socket)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	f.srv = srv
	drapb.RegisterDRAPluginServer(srv, f)
	drabeta.RegisterDRAPluginServer(srv, drabeta.V1ServerWrapper{DRAPluginServer: f})
	if f.health != nil {
		healthapi.RegisterDRAResourceHealthServer(srv, f)
		healthalpha.RegisterDRAResourceHealthServer(srv, healthapi.V1ServerWrapper{Server: f})
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
}

// node is a manager with the pods and claims that it asks for.
type node struct {
	*Manager
	t       *testing.T
	dir     string
	sockets string
	rec     *tracetest.Recorder
	stop    func()

	mu      sync.Mutex
	pods    map[types.UID]*v1.Pod
	claims  map[string]*resourceapi.ResourceClaim
	getErr  error
	early   bool // sources have not reported
	retried []types.UID
	hurt    []types.UID
	notes   chan struct{}
}

// Get implements Claims.
func (n *node) Get(_ context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.getErr != nil {
		return nil, n.getErr
	}
	c := n.claims[name]
	if c == nil || namespace != "ns" {
		return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
	}
	return c.DeepCopy(), nil
}

// newNode returns a manager that does not run. The sockets' directory is short: the kernel limits their paths.
func newNode(t *testing.T, dir string) *node {
	t.Helper()
	n := &node{t: t, dir: dir, rec: tracetest.New(t), pods: map[types.UID]*v1.Pod{}, claims: map[string]*resourceapi.ResourceClaim{}, notes: make(chan struct{}, 1000)}
	var err error
	if n.sockets, err = os.MkdirTemp("", "dra"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(n.sockets) })
	n.build(nil)
	return n
}

// build makes the manager; again, as a new agent does after the old one was killed.
func (n *node) build(change func(*Config)) {
	n.t.Helper()
	c := Config{
		Dir: n.dir, NodeName: "node", Claims: n,
		Pod: func(uid types.UID) *v1.Pod {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.pods[uid]
		},
		Active: func() (out []*v1.Pod) {
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, p := range n.pods {
				out = append(out, p)
			}
			return out
		},
		Complete: func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return !n.early
		},
		Retry:          func(uids []types.UID) { n.take(&n.retried, uids) },
		HealthChanged:  func(uids []types.UID) { n.take(&n.hurt, uids) },
		HealthMessages: true, Bus: n.rec.Bus(),
	}
	if change != nil {
		change(&c)
	}
	m, err := New(c)
	if err != nil {
		n.t.Fatal(err)
	}
	n.Manager = m
}

func (n *node) take(to *[]types.UID, uids []types.UID) {
	n.mu.Lock()
	*to = append(*to, uids...)
	n.mu.Unlock()
	n.notes <- struct{}{}
}

// run runs the manager until the test ends, or stop is called.
func (n *node) run() {
	n.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	m := n.Manager
	go func() { done <- m.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			n.t.Error(err)
		}
	})
	n.t.Cleanup(n.stop)
}

// restart kills the agent and starts another one.
func (n *node) restart() {
	n.t.Helper()
	n.stop()
	n.build(nil)
	n.run()
}

// driver serves and registers a driver, and waits until it is connected.
func (n *node) driver(f *fakeDriver, versions ...string) {
	n.t.Helper()
	socket := filepath.Join(n.sockets, f.name)
	f.serve(n.t, socket)
	n.register(f.name, socket, versions...)
}

func (n *node) register(name, socket string, versions ...string) {
	n.t.Helper()
	if len(versions) == 0 {
		versions = []string{drapb.DRAPluginService}
	}
	before := len(n.plugins(trace.DRAConnected, name))
	if err := n.Register(n.t.Context(), name, socket, versions); err != nil {
		n.t.Fatal(err)
	}
	n.until("the driver to be connected", func() bool { return len(n.plugins(trace.DRAConnected, name)) > before })
}

func (n *node) plugins(op trace.DRAPluginOp, name string) (out []*trace.DRAPlugin) {
	for _, r := range n.rec.OfKind("dra.plugin") {
		if e := r.Event.(*trace.DRAPlugin); e.Op == op && e.Driver == name {
			out = append(out, e)
		}
	}
	return out
}

// until waits for what another process does.
func (n *node) until(what string, ok func() bool) {
	n.t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		select {
		case <-n.notes:
		case <-time.After(10 * time.Millisecond):
		}
	}
	n.t.Fatalf("%s did not come", what)
}

// ops returns what became of claims, as "op name driver fault".
func (n *node) ops() (out []string) {
	for _, r := range n.rec.OfKind("resource.claim") {
		e := r.Event.(*trace.ResourceClaim)
		s := fmt.Sprintf("%s %s", e.Op, e.Name)
		for _, more := range []string{e.Driver, string(e.Fault)} {
			if more != "" {
				s += " " + more
			}
		}
		out = append(out, s)
	}
	return out
}

// claim makes a claim that is allocated from the drivers and reserved for the pods.
func (n *node) claim(name string, drivers []string, pods ...types.UID) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Status:     resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{}},
	}
	for _, d := range drivers {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{Request: "one", Driver: d, Pool: "pool", Device: "d"})
	}
	for _, p := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: string(p), UID: p})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.claims[name] = c
	return c
}

// pod makes a pod with a container "app" that uses all requests of the claims.
func (n *node) pod(uid types.UID, claims ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(uid), UID: uid}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	for _, c := range claims {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: "my-" + c, ResourceClaimName: &c})
		p.Spec.Containers[0].Resources.Claims = append(p.Spec.Containers[0].Resources.Claims, v1.ResourceClaim{Name: "my-" + c})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods[uid] = p
	return p
}

// gone removes a pod from its source.
func (n *node) gone(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pods, uid)
}

// cdi returns the names of the CDI devices of the pod's container.
func (n *node) cdi(p *v1.Pod) (out []string) {
	n.t.Helper()
	all, err := n.Container(p, &p.Spec.Containers[0])
	if err != nil {
		n.t.Fatal(err)
	}
	for _, d := range all {
		out = append(out, d.Name)
	}
	return out
}

// fault returns the fault of an error.
func fault(err error) trace.ClaimFault {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fault
	}
	return ""
}

func wantStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// reconcileOnce unprepares the claims of pods that are gone, and waits for the drivers.
func (n *node) reconcileOnce() {
	if !n.cfg.Complete() {
		return
	}
	r := newReleases(n.releaseGone)
	for r.want(n.t.Context(), n.goneUsers()); len(r.running) > 0; {
		r.handle(n.t.Context(), <-r.ended)
	}
	r.under.Wait()
}
