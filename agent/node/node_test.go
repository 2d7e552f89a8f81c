package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world is a node with its own API.
type world struct {
	*Node
	t      *testing.T
	api    *fake.Clientset
	rec    *tracetest.Recorder
	ready  atomic.Bool
	fail   atomic.Pointer[error] // of every call
	mu     sync.Mutex
	events []string
	calls  []string
}

func (w *world) Node_(reason string) { //nolint:revive // not exported: a helper of recorder
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, reason)
}

// recorder records Events of the node only.
type recorder struct {
	events.Publisher
	w *world
}

func (r recorder) Node(_ context.Context, _, reason, _ string) { r.w.Node_(reason) }

func newWorld(t *testing.T, change func(*Config), objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewClientset(objects...), rec: tracetest.New(t)}
	w.ready.Store(true)
	uid := 0
	w.api.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if a.GetVerb() != "watch" && a.GetVerb() != "list" {
			w.calls = append(w.calls, a.GetVerb()+" "+a.GetResource().Resource)
		}
		if err := w.fail.Load(); err != nil && *err != nil {
			return true, nil, *err
		}
		if c, ok := a.(clienttesting.CreateAction); ok {
			if n, ok := c.GetObject().(*v1.Node); ok {
				uid++
				n.UID = types.UID("uid-" + string(rune('0'+uid)))
			}
		}
		return false, nil, nil
	})
	resources := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("4Gi"),
		v1.ResourcePods: resource.MustParse("110"), v1.ResourceEphemeralStorage: resource.MustParse("10Gi"),
	}
	cfg := Config{
		Name: "lab-1", Client: fakeapi.Of(w.api), Bus: w.rec.Bus(), Events: recorder{w: w}, Port: 10250, MaxImages: 50, AttachDetach: true,
		Info:      v1.NodeSystemInfo{MachineID: "m1", BootID: "b1", KubeletVersion: KubeletVersion("0.1")},
		Resources: func() (v1.ResourceList, v1.ResourceList) { return resources, resources },
		Runtime:   func() Runtime { return Runtime{Name: "containerd", Version: "v2.4.2"} },
		NotReady: func() []error {
			if w.ready.Load() {
				return nil
			}
			return []error{errors.New("container runtime is down"), errors.New("PLEG is not healthy")}
		},
	}
	if change != nil {
		change(&cfg)
	}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.where.lookup = func(context.Context, string) ([]net.IP, error) { return nil, errors.New("no DNS") }
	n.where.route = func(net.IP) (net.IP, error) { return net.IPv4(10, 0, 0, 5), nil }
	w.Node = n
	return w
}

// run runs the node in simulated time until the test ends.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		synctest.Wait()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	synctest.Wait()
}

// pass advances simulated time.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's
	synctest.Wait()
}

func (w *world) break_(err error) { w.fail.Store(&err) } //nolint:revive // break is a word of Go

func (w *world) stored() *v1.Node {
	w.t.Helper()
	o, err := w.api.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", "lab-1")
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*v1.Node)
}

func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	o, err := w.api.Tracker().Get(coordinationv1.SchemeGroupVersion.WithResource("leases"), "kube-node-lease", "lab-1")
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*coordinationv1.Lease)
}

func (w *world) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.calls
	w.calls = nil
	return out
}

func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.events
	w.events = nil
	return out
}

// waited checks that the node has waited on a target.
func (w *world) waited(on trace.TargetKind) {
	w.t.Helper()
	if !slices.ContainsFunc(tracetest.Events[trace.Wait](w.rec), func(e trace.Wait) bool { return e.Target.Kind == on }) {
		w.t.Errorf("no wait on %s: %q", on, w.waits())
	}
}

func (w *world) waits() (out []string) {
	for _, r := range w.rec.OfKind("pod.wait") {
		if r.Edge == trace.EdgeBegin {
			out = append(out, say.Detail(r.Event.(*trace.Wait), r.Start()))
		}
	}
	return out
}

// A ready node is created in one complete call.
func TestRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) {
			c.Labels = map[string]string{"pool": "a"}
			c.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
		})
		if w.Ready() || w.Object().Labels["pool"] != "a" || w.Object().Status.Capacity.Cpu().Value() != 2 {
			t.Error("before the API knows the node it is as it would be made")
		}
		w.run()
		if got := w.did(); !slices.Equal(got, []string{"get nodes", "create nodes", "get leases", "create leases"}) {
			t.Errorf("calls %v", got)
		}
		n := w.stored()
		if !isReady(n) || n.Labels[v1.LabelHostname] != "lab-1" || n.Spec.Taints[0].Key != "k" || n.Annotations[attachDetachAnnotation] != "true" ||
			n.Status.NodeInfo.ContainerRuntimeVersion != "containerd://2.4.2" || n.Status.NodeInfo.KubeletVersion != "v1.37.1+kubeloupe.0.1" ||
			n.Status.DaemonEndpoints.KubeletEndpoint.Port != 10250 || n.Status.Addresses[0].Address != "10.0.0.5" || n.Status.Conditions[3].Type != v1.NodeReady {
			t.Errorf("node %+v", n)
		}
		if l := w.lease(); *l.Spec.HolderIdentity != "lab-1" || *l.Spec.LeaseDurationSeconds != 40 || l.OwnerReferences[0].UID != n.UID {
			t.Errorf("lease %+v", l)
		}
		if got := w.told(); !slices.Equal(got, []string{"Starting", "NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeReady"}) {
			t.Errorf("events %v", got)
		}
		if !w.Ready() {
			t.Error("not ready")
		}
	})
}

// An idle node renews its lease and reports every five minutes, no more.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.did()
		w.pass(time.Hour)
		count := map[string]int{}
		for _, c := range w.did() {
			count[c]++
		}
		if n := count["update leases"]; n < 345 || n > 361 {
			t.Errorf("%d renewals in an hour", n)
		}
		if n := count["patch nodes"]; n < 11 || n > 13 || len(count) != 2 {
			t.Errorf("calls %v", count)
		}
		if s := tracetest.Events[trace.NodeStatus](w.rec); s[len(s)-1].Op != trace.NodePatch || s[len(s)-1].Cause != trace.NodePeriod {
			t.Errorf("the last report is %+v", s[len(s)-1])
		}
		if s := w.lease().Spec.RenewTime; time.Since(s.Time) > 11*time.Second {
			t.Errorf("renewed %s", s)
		}
	})
}

func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.ready.Store(false)
		w.run()
		first := condition(&w.stored().Status, v1.NodeReady)
		if first.Status != v1.ConditionFalse || first.Message != "[container runtime is down, PLEG is not healthy]" || first.Reason != "KubeletNotReady" {
			t.Errorf("%+v", first)
		}
		w.told()
		w.pass(3 * time.Second)
		w.ready.Store(true)
		w.Changed()
		synctest.Wait()
		c := condition(&w.stored().Status, v1.NodeReady)
		if c.Status != v1.ConditionTrue || !c.LastTransitionTime.After(first.LastTransitionTime.Time) || !w.Ready() {
			t.Errorf("%+v", c)
		}
		if mem := condition(&w.stored().Status, v1.NodeMemoryPressure); mem.LastTransitionTime != first.LastTransitionTime {
			t.Error("what did not turn has a new transition time")
		}
		if got := w.told(); !slices.Equal(got, []string{"NodeReady"}) {
			t.Errorf("events %v", got)
		}
		writes := tracetest.Events[trace.NodeStatus](w.rec)
		if last := writes[len(writes)-1]; last.Op != "patch" || last.Cause != "change" || say.Changes(last.Changed, 0) != "Ready False → True (KubeletReady)" {
			t.Errorf("%+v", last)
		}
	})
}

// What the node lacks is in the message of the Ready condition, whether it is ready or not.
func TestWarning(t *testing.T) {
	capacity := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
		capacity[name] = resource.MustParse("1")
	}
	for _, c := range []struct {
		f    facts
		want string
	}{
		{facts{noStorage: true}, "kubelet is posting ready status"},
		{facts{noStorage: true, warning: "CPU hardcapping unsupported"}, "kubelet is posting ready status. WARNING: CPU hardcapping unsupported"},
		{facts{warning: "CPU hardcapping unsupported"}, "missing node capacity for resources: ephemeral-storage. WARNING: CPU hardcapping unsupported"},
	} {
		s := v1.NodeStatus{Capacity: capacity}
		setConditions(&s, c.f)
		if got := condition(&s, v1.NodeReady).Message; got != c.want {
			t.Errorf("message %q, want %q", got, c.want)
		}
	}
}

// Labels and taints of others are kept, the agent's own fields are corrected, and the boot is reported.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "lab-1", UID: "old", Labels: map[string]string{"mine": "x", v1.LabelHostname: "wrong"}},
			Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: "theirs"}}, Unschedulable: true},
			Status: v1.NodeStatus{
				NodeInfo:        v1.NodeSystemInfo{MachineID: "m1", BootID: "b0"},
				Capacity:        v1.ResourceList{"hugepages-2Mi": resource.MustParse("0"), "example.com/gpu": resource.MustParse("1")},
				Addresses:       []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "1.2.3.4"}},
				VolumesAttached: []v1.AttachedVolume{{Name: "v"}},
			},
		}
		w := newWorld(t, nil, old)
		w.run()
		if got := w.did(); !slices.Equal(got[:4], []string{"get nodes", "create nodes", "get nodes", "patch nodes"}) {
			t.Errorf("calls %v", got)
		}
		n := w.stored()
		_, huge := n.Status.Capacity["hugepages-2Mi"]
		_, gpu := n.Status.Allocatable["example.com/gpu"]
		if n.UID != "old" || n.Labels["mine"] != "x" || n.Labels[v1.LabelHostname] != "lab-1" || n.Spec.Taints[0].Key != "theirs" || huge || !gpu ||
			!isReady(n) || len(n.Status.Addresses) != 2 || len(n.Status.VolumesAttached) != 1 {
			t.Errorf("%+v", n)
		}
		if got := w.told(); got[1] != "Rebooted" {
			t.Errorf("events %v", got)
		}
	})
}

// A node that was made anew has none of the devices that its object names.
func TestFresh(t *testing.T) {
	list := v1.ResourceList{"example.com/gpu": resource.MustParse("4")}
	for _, c := range []struct {
		fresh       bool
		allocatable v1.ResourceList
	}{{false, list}, {true, list}, {true, nil}} { // nil: somebody wrote the capacity of a new object
		fresh := c.fresh
		synctest.Test(t, func(t *testing.T) {
			old := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1"}, Status: v1.NodeStatus{Capacity: list.DeepCopy(), Allocatable: c.allocatable.DeepCopy()}}
			w := newWorld(t, func(c *Config) { c.Fresh = func() bool { return fresh } }, old)
			w.run()
			n := w.stored()
			for what, all := range map[string]v1.ResourceList{"capacity": n.Status.Capacity, "allocatable": n.Status.Allocatable} {
				gpus, cpus := all["example.com/gpu"], all["cpu"]
				if gpus.IsZero() != fresh || cpus.IsZero() {
					t.Errorf("fresh %v: %s %v", fresh, what, all)
				}
			}
		})
	}
}

// While the API is not available, each attempt is published; afterwards everything is as before.
func TestAPIGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.break_(errors.New("connection refused"))
		w.run()
		w.pass(10 * time.Minute)
		if n := len(w.waits()); n < 60 || n > 110 {
			t.Errorf("%d waits in ten minutes", n)
		}
		w.waited(trace.TargetRegistration)
		w.break_(nil)
		w.pass(9 * time.Second)
		if !w.Ready() {
			t.Fatal("not ready")
		}
		w.break_(apierrors.NewTooManyRequests("busy", 1))
		w.ready.Store(false)
		w.Changed()
		w.pass(10 * time.Minute)
		w.waited(trace.TargetNodeStatus)
		w.break_(nil)
		w.pass(9 * time.Second)
		if isReady(w.stored()) || time.Since(w.lease().Spec.RenewTime.Time) > 12*time.Second {
			t.Error("status or lease did not catch up")
		}
	})
}

// While nothing changes, the lease is all that finds broken connections.
func TestLeaseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Int32
		w := newWorld(t, func(c *Config) { c.HeartbeatFailed = func() { failed.Add(1) } })
		bad := atomic.Bool{}
		w.api.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return bad.Swap(false), nil, errors.New("timed out")
		})
		w.run()
		bad.Store(true)
		w.pass(20 * time.Second)
		if failed.Load() != 0 || bad.Load() {
			t.Errorf("one failure: %d, still to come %t", failed.Load(), bad.Load())
		}
		w.break_(errors.New("timed out"))
		w.pass(20 * time.Second)
		if failed.Load() < 3 {
			t.Errorf("repeated failures: %d", failed.Load())
		}
	})
}

func TestForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.api.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource("nodes"), "lab-1", errors.New("no"))
		})
		w.run()
		w.pass(time.Second)
		if got := strings.Join(w.waits(), "\n"); !strings.Contains(got, "CN=system:node:lab-1, O=system:nodes") {
			t.Error(got)
		}
		// Others may create it.
		if err := w.api.Tracker().Add(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", UID: "theirs"}}); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Second)
		if !w.Ready() {
			t.Error("not ready")
		}
	})
}

// With the feature gate KubeletRegistrationGetOnExistsOnly, an object is not adopted if its creation is forbidden.
func TestOnlyExisting(t *testing.T) {
	for _, exists := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.OnlyExisting = true }, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", UID: "theirs"}})
			if !exists {
				w.api.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(v1.Resource("nodes"), "lab-1", errors.New("no"))
				})
			}
			w.run()
			w.pass(20 * time.Second)
			if w.Ready() != exists {
				t.Errorf("the API server says that it exists: %t, ready %t", exists, w.Ready())
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if !exists && slices.Contains(w.calls, "patch nodes") {
				t.Errorf("calls %q: the node was adopted", w.calls)
			}
		})
	}
}

func TestNameTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil,
			&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1"}, Status: v1.NodeStatus{NodeInfo: v1.NodeSystemInfo{MachineID: "other"}}},
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", Namespace: "kube-node-lease"}, Spec: coordinationv1.LeaseSpec{
				RenewTime: new(metav1.NewMicroTime(time.Now())), LeaseDurationSeconds: new(int32(40)),
			}})
		w.run()
		w.pass(20 * time.Second)
		if w.Ready() || !strings.Contains(strings.Join(w.waits(), "\n"), "the name is taken: machine other renewed its lease") {
			t.Errorf("ready %t, waits %v", w.Ready(), w.waits())
		}
		w.pass(30 * time.Second) // the other one no longer renews
		if !w.Ready() || w.stored().Status.NodeInfo.MachineID != "m1" {
			t.Error("not taken over")
		}
		told := tracetest.Events[trace.Decision](w.rec)
		if last := told[len(told)-1]; last.By != trace.ByNode || last.Verdict != trace.VerdictAdopt {
			t.Errorf("decision %+v", last)
		}
	})
}

// A node whose object is deleted is registered again, with a lease of the new object.
func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		was := w.stored().UID
		if err := w.api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("nodes"), "", "lab-1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.Ready() {
			t.Error("ready without an object")
		}
		w.pass(25 * time.Second)
		n := w.stored()
		if n.UID == was || !w.Ready() || w.lease().OwnerReferences[0].UID != n.UID {
			t.Errorf("uid %s, ready %t", n.UID, w.Ready())
		}
		writes := tracetest.Events[trace.NodeStatus](w.rec)
		if last := writes[len(writes)-1]; last.Op != trace.NodeRegister || last.Cause != trace.NodeDeleted {
			t.Errorf("%+v", last)
		}
	})
}

// The addresses of the next object are not those that a cloud provider had set in the deleted one.
func TestDeletedWithCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.ExternalCloud, c.StatusFrequency = true, time.Second })
		w.run()
		n := w.stored().DeepCopy()
		n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.0.2.9"}}
		nodes := v1.SchemeGroupVersion.WithResource("nodes")
		if err := w.api.Tracker().Update(nodes, n, ""); err != nil {
			t.Fatal(err)
		}
		w.pass(slowFactsAge + 2*time.Second)
		if got := w.stored().Status.Addresses; len(got) != 1 || got[0].Address != "192.0.2.9" {
			t.Errorf("addresses %v", got)
		}
		if err := w.api.Tracker().Delete(nodes, "", "lab-1"); err != nil {
			t.Fatal(err)
		}
		w.pass(3 * time.Second)
		if got := w.stored().Status.Addresses; w.stored().UID == n.UID || len(got) != 1 || got[0].Type != v1.NodeHostName {
			t.Errorf("addresses of the next object: %v", got)
		}
	})
}

// Changes by others are seen.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		w.told()
		n := w.stored().DeepCopy()
		n.Spec.Unschedulable, n.Labels["new"] = true, "x"
		if err := w.api.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.Object().Labels["new"] != "x" || !slices.Equal(w.told(), []string{"NodeNotSchedulable"}) {
			t.Error("not seen")
		}
	})
}

func TestPatchOfAddresses(t *testing.T) {
	old := &v1.Node{Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {Type: v1.NodeInternalIP, Address: "fd00::1"}}}}
	node := old.DeepCopy()
	node.Status.Addresses[1].Address = "fd00::2"
	node.Spec.Unschedulable = true
	data, err := patch(old, node)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"fd00::2"},{"$patch":"replace"}]}}`
	if string(data) != want || !json.Valid(data) {
		t.Errorf("%s", data)
	}
}

func TestAddresses(t *testing.T) {
	own := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("10.0.0.1")}, &net.IPNet{IP: net.ParseIP("fd00::1")}}, nil
	}
	ips := func(s ...string) (out []net.IP) {
		for _, s := range s {
			out = append(out, net.ParseIP(s))
		}
		return out
	}
	for name, c := range map[string]struct {
		w    whereabouts
		want string
	}{
		"given":      {whereabouts{ips: ips("10.0.0.1")}, "10.0.0.1 h"},
		"dual":       {whereabouts{ips: ips("10.0.0.1", "fd00::1")}, "10.0.0.1 fd00::1 h"},
		"not ours":   {whereabouts{ips: ips("10.9.9.9")}, "--node-ip 10.9.9.9: no interface of this machine has it"},
		"loopback":   {whereabouts{ips: ips("127.0.0.1")}, "--node-ip 127.0.0.1: is a loopback address"},
		"by name":    {whereabouts{lookup: answer(ips("fd00::1", "10.0.0.1"))}, "10.0.0.1 h"},
		"by name, 6": {whereabouts{ips: ips("::"), lookup: answer(ips("10.0.0.1", "fd00::1"))}, "fd00::1 h"},
		"route":      {whereabouts{lookup: answer(ips("127.0.1.1"))}, "10.0.0.7 h"},
		"cloud":      {whereabouts{external: true}, "h"},
		"hostname":   {whereabouts{hostname: "010.0.0.1"}, "10.0.0.1 010.0.0.1"},
	} {
		c.w.own, c.w.hostname = own, cmp.Or(c.w.hostname, "h")
		c.w.route = func(net.IP) (net.IP, error) { return net.ParseIP("10.0.0.7"), nil }
		if c.w.lookup == nil {
			c.w.lookup = answer(nil)
		}
		list, err := c.w.addresses(t.Context(), &v1.Node{})
		var got []string
		for _, a := range list {
			got = append(got, a.Address)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

func answer(ips []net.IP) func(context.Context, string) ([]net.IP, error) {
	return func(context.Context, string) ([]net.IP, error) { return ips, nil }
}

// A cloud provider's addresses are kept, and it learns of --node-ip.
func TestExternalCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.ExternalCloud = true })
		w.run()
		n := w.stored().DeepCopy()
		if n.Spec.Taints[0].Key != externalCloudTaint || len(n.Status.Addresses) != 1 || n.Status.Addresses[0].Type != v1.NodeHostName || n.Annotations[providedIPAnnotation] != "" {
			t.Errorf("taints %v, addresses %v, annotations %v", n.Spec.Taints, n.Status.Addresses, n.Annotations)
		}
		n.Spec.Taints, n.Status.Addresses = nil, []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.1.1.1"}}
		if err := w.api.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.ready.Store(false)
		w.Changed()
		w.pass(time.Second)
		if n := w.stored(); isReady(n) || len(n.Status.Addresses) != 1 || n.Status.Addresses[0].Address != "10.1.1.1" || len(n.Spec.Taints) > 0 {
			t.Errorf("after a change at once: taints %v, status %+v", n.Spec.Taints, n.Status)
		}
		w.pass(time.Hour)
		if n := w.stored(); n.Status.Addresses[0].Address != "10.1.1.1" {
			t.Errorf("after an hour: %v", n.Status.Addresses)
		}
	})
	for external, want := range map[bool]string{true: "10.0.0.1", false: ""} {
		synctest.Test(t, func(t *testing.T) {
			old := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", Annotations: map[string]string{providedIPAnnotation: "10.9.9.9"}}}
			w := newWorld(t, func(c *Config) { c.ExternalCloud, c.IPs = external, []net.IP{net.ParseIP("10.0.0.1")} }, old)
			w.where.own = func() ([]net.Addr, error) { return []net.Addr{&net.IPNet{IP: net.ParseIP("10.0.0.1")}}, nil }
			w.run()
			if n := w.stored(); n.Annotations[providedIPAnnotation] != want || n.Status.Addresses[0].Address != "10.0.0.1" {
				t.Errorf("external %v: annotations %v, addresses %v", external, n.Annotations, n.Status.Addresses)
			}
		})
	}
}

// A cloud provider does not learn of a --node-ip that is not this machine's before it is.
func TestProvidedIPNotValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", Annotations: map[string]string{providedIPAnnotation: "10.9.9.9"}}}
		w := newWorld(t, func(c *Config) { c.ExternalCloud, c.IPs = true, []net.IP{net.ParseIP("10.0.0.1")} }, old)
		var own atomic.Pointer[net.IPNet]
		own.Store(&net.IPNet{IP: net.ParseIP("10.0.0.2")})
		w.where.own = func() ([]net.Addr, error) { return []net.Addr{own.Load()}, nil }
		w.run()
		if got := w.stored().Annotations[providedIPAnnotation]; got != "10.9.9.9" {
			t.Errorf("%s although no interface has it", got)
		}
		own.Store(&net.IPNet{IP: net.ParseIP("10.0.0.1")})
		w.pass(time.Minute)
		if got := w.stored().Annotations[providedIPAnnotation]; got != "10.0.0.1" {
			t.Errorf("%s although an interface has 10.0.0.1", got)
		}
	})
}

// The labels by which pods are scheduled to a platform are set again, other labels are not changed.
//
// Upstream: test/e2e_node/os_label_rename_test.go.
func TestPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		n := w.stored().DeepCopy()
		n.Labels["kubernetes.io/os"], n.Labels["mine"] = "dummyOS", "1"
		delete(n.Labels, "kubernetes.io/arch")
		if err := w.api.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if l := w.stored().Labels; l["kubernetes.io/os"] != goruntime.GOOS || l["kubernetes.io/arch"] != goruntime.GOARCH || l["mine"] != "1" {
			t.Errorf("labels %v", l)
		}
	})
}

func TestAddressesOf(t *testing.T) {
	const in, ex, name = v1.NodeInternalIP, v1.NodeExternalIP, v1.NodeHostName
	for _, c := range []struct {
		all  []v1.NodeAddress
		want string
	}{
		{nil, ""},
		{[]v1.NodeAddress{{Type: name, Address: "10.0.0.1"}, {Type: in, Address: "no address"}}, ""},
		{[]v1.NodeAddress{{Type: ex, Address: "192.0.2.1"}, {Type: in, Address: "10.0.0.1"}, {Type: in, Address: "10.0.0.2"}}, "10.0.0.1"},
		{[]v1.NodeAddress{{Type: ex, Address: "192.0.2.1"}}, "192.0.2.1"},
		{[]v1.NodeAddress{{Type: in, Address: "fd00::1"}, {Type: in, Address: "10.0.0.1"}}, "fd00::1 10.0.0.1"},
		{[]v1.NodeAddress{{Type: ex, Address: "2001:db8::1"}, {Type: in, Address: "10.0.0.1"}}, "10.0.0.1 2001:db8::1"},
	} {
		if got := strings.Join(AddressesOf(&v1.Node{Status: v1.NodeStatus{Addresses: c.all}}), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.all, got, c.want)
		}
	}
}

func TestImages(t *testing.T) {
	got := imageList([]Image{{Tags: []string{"small"}, Size: 1}, {Digests: []string{"d1", "d2", "d3"}, Tags: []string{"t1", "t2", "t3"}, Size: 9}, {Size: 0}}, 2)
	if len(got) != 2 || strings.Join(got[0].Names, " ") != "d1 d2 d3 t1 t2" || got[1].Names[0] != "small" {
		t.Errorf("%+v", got)
	}
}

// A runtime that does not list its images delays neither the registration nor a condition. What it lists later is in the status at once.
func TestImagesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan []Image)
		w := newWorld(t, func(c *Config) {
			c.Images = func(ctx context.Context) ([]Image, error) {
				select {
				case images := <-answer:
					return images, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		w.run()
		w.pass(imagesWait)
		if !w.Ready() {
			t.Fatal("not registered")
		}
		w.pass(slowFactsAge)
		w.ready.Store(false)
		w.Changed()
		w.pass(imagesWait)
		if w.Ready() {
			t.Error("still ready")
		}
		answer <- []Image{{Tags: []string{"app:1"}, Size: 7}}
		w.pass(time.Millisecond)
		if images := w.stored().Status.Images; len(images) != 1 || images[0].SizeBytes != 7 {
			t.Errorf("images %v", images)
		}
	})
}

func TestKubeletVersion(t *testing.T) {
	for own, want := range map[string]string{
		"v0.3.0": "v1.37.1+kubeloupe.0.3.0", "": "v1.37.1+kubeloupe", "(devel)": "v1.37.1+kubeloupe.-devel-", "0.1.0-dirty+x": "v1.37.1+kubeloupe.0.1.0-dirty-x",
	} {
		if got := KubeletVersion(own); got != want {
			t.Errorf("%q: %s, want %s", own, got, want)
		}
	}
}

type gates map[string]bool

func (g gates) Enabled(name string) bool { return g[name] }

func TestRuntimeVersion(t *testing.T) {
	for version, want := range map[string]string{
		"": "Unknown", "v2.4.2": "2.4.2", "1.6.20~ds1": "1.6.20", "1.7.0-rc.1": "1.7.0-rc.1", "2.0.0+unknown": "2.0.0+unknown", "simulated": "simulated",
	} {
		if got := RuntimeVersion(Runtime{Name: "containerd", Version: version}); got != "containerd://"+want {
			t.Errorf("%q is %s, want %s", version, got, want)
		}
	}
}

func TestDeclaredFeatures(t *testing.T) {
	const restart, mounts, users = "RestartAllContainersOnContainerExits", "VolumeBindMountOptions", "UserNamespacesHostNetworkSupport"
	all := gates{restart: true, mounts: true, users: true}
	for _, c := range []struct {
		name    string
		gates   gates
		runtime *runtimeapi.RuntimeFeatures
		want    []string
	}{
		{"a gate", gates{restart: true}, nil, []string{restart}},
		{"the runtime reports nothing", all, nil, []string{restart}},
		{"the runtime has one", all, &runtimeapi.RuntimeFeatures{MountOptions: true}, []string{restart, mounts}},
		{"the runtime has all", all, &runtimeapi.RuntimeFeatures{MountOptions: true, UserNamespacesHostNetwork: true}, []string{restart, users, mounts}},
		{"no gate", gates{}, &runtimeapi.RuntimeFeatures{MountOptions: true, UserNamespacesHostNetwork: true}, nil},
	} {
		if got := DeclaredFeatures(c.gates, c.runtime); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The labels in the API are known as soon as the object is, also while the registration fails; of another machine's object not before it is
// adopted. What the agent sets is this machine's.
func TestKnown(t *testing.T) {
	object := func(machine string) *v1.Node {
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "lab-1", UID: "theirs", Labels: map[string]string{"pool": "api"}},
			Status: v1.NodeStatus{
				NodeInfo: v1.NodeSystemInfo{MachineID: machine}, Features: &v1.NodeFeatures{},
				Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "1.2.3.4"}},
			},
		}
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", Namespace: "kube-node-lease"}, Spec: coordinationv1.LeaseSpec{
		RenewTime: new(metav1.NewMicroTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))), LeaseDurationSeconds: new(int32(40)),
	}}
	for _, c := range []struct {
		name           string
		refused        string // verb
		noRegister     bool
		onlyExisting   bool
		node           *v1.Node
		at1s, at1m     bool
		pool           string
		registeredAt1m bool
	}{
		{name: "none is there", at1s: true, at1m: true, pool: "flag", registeredAt1m: true},
		{name: "none is there and none can be created", refused: "create", pool: "flag"},
		{name: "it is there", node: object("m1"), at1s: true, at1m: true, pool: "api", registeredAt1m: true},
		{name: "it is there, and none can be created", refused: "create", onlyExisting: true, node: object("m1"), at1s: true, at1m: true, pool: "api"},
		{name: "it is there, but cannot be changed", refused: "patch", node: object("m1"), at1s: true, at1m: true, pool: "api"},
		{name: "it is another machine's", node: object("other"), at1m: true, pool: "api", registeredAt1m: true},
		{name: "another's, none can be created", refused: "create", onlyExisting: true, node: object("other"), pool: "flag"},
		{name: "others register it", noRegister: true, node: object("m1"), at1s: true, at1m: true, pool: "api", registeredAt1m: true},
		{name: "others register it, but it cannot be changed", noRegister: true, refused: "patch", node: object("m1"), at1s: true, at1m: true, pool: "api"},
		{name: "others have not registered it", noRegister: true, pool: "flag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := []runtime.Object{lease.DeepCopy()}
				if c.node != nil {
					objects = append(objects, c.node)
				}
				features := &v1.NodeFeatures{SupplementalGroupsPolicy: new(true)}
				w := newWorld(t, func(cfg *Config) {
					cfg.Labels = map[string]string{"pool": "flag"}
					cfg.NoRegister, cfg.OnlyExisting = c.noRegister, c.onlyExisting
					cfg.Runtime = func() Runtime { return Runtime{Features: features} }
				}, objects...)
				if c.refused != "" {
					w.api.PrependReactor(c.refused, "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
						return true, nil, apierrors.NewForbidden(v1.Resource("nodes"), "lab-1", errors.New("no"))
					})
				}
				w.run()
				w.pass(time.Second)
				if closed(w.Known()) != c.at1s {
					t.Errorf("known after 1 s: %t", closed(w.Known()))
				}
				w.pass(time.Minute)
				if closed(w.Known()) != c.at1m || closed(w.Registered()) != c.registeredAt1m {
					t.Errorf("known after 1 min: %t, registered %t", closed(w.Known()), closed(w.Registered()))
				}
				o := w.Object()
				if o.Labels["pool"] != c.pool || o.Status.Features == nil || o.Status.Features.SupplementalGroupsPolicy == nil {
					t.Errorf("labels %v, features %v", o.Labels, o.Status.Features)
				}
				if a := o.Status.Addresses; len(a) > 0 && a[0].Address == "1.2.3.4" {
					t.Errorf("addresses %v of before", a)
				}
			})
		})
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A fetch gets what the watch has not brought, before and after the registration; while the API does not respond, few wait for it.
func TestFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.api.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) { return true, watch.NewFake(), nil })
		if NewSelf().Fresh() != nil || w.Fresh() != nil {
			t.Error("an object before there is one")
		}
		w.pass(fetchPause)
		w.run()
		n := w.stored().DeepCopy()
		n.Labels["new"] = "x"
		if err := w.api.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
			t.Fatal(err)
		}
		if w.Object().Labels["new"] != "" || w.Fresh().Labels["new"] != "x" || w.Object().Labels["new"] != "x" {
			t.Errorf("labels %v", w.Object().Labels)
		}
		w.did()
		w.break_(errors.New("no route to host"))
		for range 10 {
			if w.Fresh() != nil {
				t.Error("an object that the API did not send")
			}
		}
		if got := w.did(); len(got) != 1 {
			t.Errorf("calls %v", got)
		}
		w.break_(nil)
		w.pass(fetchPause)
		if w.Fresh() == nil {
			t.Error("no object afterwards")
		}
	})
}

// A node without ephemeral-storage is ready if localStorageCapacityIsolation is false.
func TestNoStorage(t *testing.T) {
	for _, off := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(c *Config) {
				list, _ := c.Resources()
				list = list.DeepCopy()
				delete(list, v1.ResourceEphemeralStorage)
				c.NoStorage, c.Resources = off, func() (v1.ResourceList, v1.ResourceList) { return list, list }
			})
			w.run()
			if w.Ready() != off {
				t.Errorf("localStorageCapacityIsolation %t: ready %t", !off, w.Ready())
			}
		})
	}
}

// The event about a reboot is recorded once, also if the first write of the status fails.
func TestRebootedIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "lab-1"}, Status: v1.NodeStatus{NodeInfo: v1.NodeSystemInfo{MachineID: "m1", BootID: "b0"}},
		})
		var fails atomic.Bool
		fails.Store(true)
		w.api.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return fails.Load(), nil, apierrors.NewInternalError(errors.New("etcd"))
		})
		w.run()
		w.pass(5 * time.Second)
		if got := w.told(); slices.Contains(got, "Rebooted") {
			t.Errorf("events %v before the status", got)
		}
		fails.Store(false)
		w.pass(time.Minute)
		w.ready.Store(false)
		w.Changed()
		w.pass(time.Minute)
		rest := w.told()
		if i := slices.Index(rest, "Rebooted"); i < 0 || slices.Contains(rest[i+1:], "Rebooted") {
			t.Errorf("events %v", rest)
		}
	})
}
