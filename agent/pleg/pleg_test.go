package pleg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// node is a simulated runtime behind gRPC with a PLEG on it.
type node struct {
	t    *testing.T
	srv  *sim.Server
	rec  *tracetest.Recorder
	pleg *PLEG

	mu    sync.Mutex
	calls []string
}

// inBubble runs a test in simulated time. The PLEG has relisted once; run starts it.
func inBubble(t *testing.T, f func(t *testing.T, n *node, run func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := &node{t: t, rec: tracetest.New(t)}
		var err error
		n.srv, err = sim.New(sim.Config{Latency: map[string]sim.Latency{}, Images: []sim.Image{{Name: "app:1", Present: true}}})
		n.check(err)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		lis := bufconn.Listen(1 << 20)
		wg.Go(func() { n.check(n.srv.Serve(ctx, lis)) })
		conn, err := grpc.NewClient("passthrough:///sim", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
			grpc.WithUnaryInterceptor(n.count))
		n.check(err)
		n.pleg, err = New(Config{Runtime: runtimeapi.NewRuntimeServiceClient(conn), Bus: n.rec.Bus()})
		n.check(err)
		f(t, n, func() { wg.Go(func() { n.check(n.pleg.Run(ctx)) }); synctest.Wait() })
		cancel()
		n.check(conn.Close())
		wg.Wait()
		n.srv.Close()
	})
}

func (n *node) check(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Error(err)
	}
}

func (n *node) count(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	n.mu.Lock()
	n.calls = append(n.calls, method[len("/runtime.v1.RuntimeService/"):])
	n.mu.Unlock()
	return invoke(ctx, method, req, reply, cc, opts...)
}

// called returns the calls since the last call of called.
func (n *node) called() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.calls
	n.calls = nil
	return c
}

// fault injects a fault until the returned function is called.
func (n *node) fault(f sim.Fault) (undo func()) {
	n.t.Helper()
	undo, err := n.srv.Inject(f)
	n.check(err)
	return undo
}

// start creates a pod with one running container and returns their ids.
func (n *node) start(name string) (sandbox, container string) {
	n.t.Helper()
	ctx := n.t.Context()
	labels := map[string]string{kubelettypes.KubernetesPodUIDLabel: name, kubelettypes.KubernetesPodNameLabel: name, kubelettypes.KubernetesPodNamespaceLabel: "ns"}
	cfg := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "ns", Uid: name}, Labels: labels}
	sb, err := n.srv.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: cfg})
	n.check(err)
	c, err := n.srv.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sb.GetPodSandboxId(), SandboxConfig: cfg, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "app:1"}, Labels: labels, Command: []string{"sleep", "infinity"},
	}})
	n.check(err)
	_, err = n.srv.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.GetContainerId()})
	n.check(err)
	return sb.GetPodSandboxId(), c.GetContainerId()
}

// got returns the events that have arrived, as "Type uid".
func (n *node) got() []string {
	synctest.Wait()
	var out []string
	for {
		select {
		case e := <-n.pleg.Events():
			out = append(out, fmt.Sprintf("%s %s", e.Type, e.UID))
		default:
			return out
		}
	}
}

func (n *node) modes() []string {
	var out []string
	for _, m := range tracetest.Events[trace.PLEGMode](n.rec) {
		out = append(out, string(m.Mode)+": "+m.Reason)
	}
	return out
}

// relists returns the causes of finished relists.
func (n *node) relists() []string {
	var out []string
	for _, r := range n.rec.OfKind("pleg.relist") {
		if ev, ok := r.Event.(*trace.PLEGRelist); ok && r.Edge == trace.EdgeEnd {
			out = append(out, string(ev.Cause))
		}
	}
	return out
}

// relisted checks that a relist for the cause has finished.
func (n *node) relisted(cause trace.RelistCause) {
	n.t.Helper()
	if got := n.relists(); !slices.Contains(got, string(cause)) {
		n.t.Errorf("relists %q, want one for %q", got, cause)
	}
}

func (n *node) state(uid string) string {
	p := n.pleg.Cache().Get(types.UID(uid))
	if p == nil {
		return "none"
	}
	if c := p.Newest("main"); c != nil {
		return c.State.String()
	}
	return "no container"
}

// pass advances simulated time.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var life = []string{"SandboxChanged a", "ContainerCreated a", "ContainerStarted a"}

func TestEvented(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		n.check(n.pleg.Relist(t.Context(), "start"))
		run()
		pass(time.Second)
		n.called()
		sandbox, id := n.start("a")
		equal(t, "events of a start", life, n.got())
		n.check(n.srv.ExitContainer(id, 3, false))
		equal(t, "events of an exit", []string{"ContainerDied a"}, n.got())
		if c := n.pleg.Cache().Get("a").Newest("main"); c.ExitCode != 3 || c.ID != id || c.SandboxID != sandbox {
			t.Errorf("cached container %+v", c)
		}
		_, err := n.srv.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id})
		n.check(err)
		equal(t, "events of a removal", []string{"ContainerRemoved a"}, n.got())
		_, err = n.srv.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox})
		n.check(err)
		_, err = n.srv.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox})
		n.check(err)
		equal(t, "events of the end", []string{"SandboxChanged a", "SandboxChanged a"}, n.got())
		equal(t, "left in the cache", 0, len(n.pleg.Cache().All()))
		equal(t, "calls while events flow", []string(nil), n.called())
		equal(t, "modes", []string{"evented: "}, n.modes())
		pass(5 * time.Minute)
		equal(t, "relists", []string{"start", "stream-open", string(trace.RelistPeriod)}, n.relists())
		if at, evented := n.pleg.LastRelist(); !evented || time.Since(at) > time.Second {
			t.Errorf("last relist %s ago, evented %v", time.Since(at), evented)
		}
	})
}

// Relists find what happens while the stream is down, each event once.
func TestStreamDropsAndCatchesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		run()
		pass(time.Second)
		undo := n.fault(sim.Fault{Method: "GetContainerEvents", Code: codes.Unavailable, Message: "restarting"})
		synctest.Wait()
		_, evented := n.pleg.LastRelist()
		equal(t, "evented while the stream is down", false, evented)
		n.relisted(trace.RelistBroken)
		_, id := n.start("a")
		pass(time.Second)
		got := n.got()
		slices.Sort(got)
		equal(t, "events from relists", []string{"ContainerStarted a", "SandboxChanged a"}, got)
		undo()
		pass(10 * time.Second)
		_, evented = n.pleg.LastRelist()
		equal(t, "evented again", true, evented)
		equal(t, "events that were told twice", []string(nil), n.got())
		n.called()
		n.check(n.srv.ExitContainer(id, 0, false))
		equal(t, "events", []string{"ContainerDied a"}, n.got())
		equal(t, "calls while events flow", []string(nil), n.called())
	})
}

// The gap between the first list and the stream is closed by a relist.
func TestGapBeforeTheStream(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		n.check(n.pleg.Relist(t.Context(), "start"))
		undo := n.fault(sim.Fault{Method: "GetContainerEvents", Hang: true})
		n.start("a")
		run()
		pass(time.Second)
		got := n.got()
		slices.Sort(got)
		equal(t, "events", []string{"ContainerStarted a", "SandboxChanged a"}, got)
		undo()
	})
}

func TestNoEventsMeansRelist(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		n.fault(sim.Fault{Method: "GetContainerEvents", Code: codes.Unimplemented})
		run()
		equal(t, "modes", []string{"relist: the runtime has no event stream"}, n.modes())
		_, id := n.start("a")
		pass(time.Second)
		got := n.got()
		slices.Sort(got)
		equal(t, "events within a second", []string{"ContainerStarted a", "SandboxChanged a"}, got)
		n.check(n.srv.ExitContainer(id, 0, false))
		pass(time.Second)
		equal(t, "events", []string{"ContainerDied a"}, n.got())
		n.relisted(trace.RelistNoEvents)
	})
}

func TestRelistAsksOnlyOfChangedPods(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, _ func()) {
		n.start("a")
		_, id := n.start("b")
		n.check(n.pleg.Relist(t.Context(), "start"))
		n.called()
		lists := []string{"ListPodSandbox", "ListContainers"}
		n.check(n.pleg.Relist(t.Context(), "period"))
		equal(t, "calls when nothing changed", lists, n.called())
		n.check(n.srv.ExitContainer(id, 0, false))
		n.check(n.pleg.Relist(t.Context(), "period"))
		equal(t, "calls when b changed", append(lists, "PodSandboxStatus", "ContainerStatus"), n.called())
		equal(t, "a, b", []string{"running", "exited"}, []string{n.state("a"), n.state("b")})
	})
}

// A first list may be longer than the channel, and nobody reads it yet.
func TestFirstRelistDoesNotBlock(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		for i := range 600 {
			n.start(fmt.Sprint("p", i))
		}
		n.check(n.pleg.Relist(t.Context(), "start"))
		equal(t, "pods", 600, len(n.pleg.Cache().All()))
		equal(t, "published", 1200, len(tracetest.Events[trace.PLEGEvent](n.rec)))
		run()
	})
}

// A pod whose status is not available does not hide the others.
func TestRelistGoesOnAfterAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, _ func()) {
		n.start("a")
		n.start("b")
		undo := n.fault(sim.Fault{Method: "PodSandboxStatus", Pod: "a", Code: codes.Internal, Message: "broken"})
		if err := n.pleg.Relist(t.Context(), "period"); err == nil {
			t.Error("no error")
		}
		equal(t, "a, b", []string{"running", "running"}, []string{n.state("a"), n.state("b")})
		equal(t, "is an outline", true, n.pleg.Cache().Get("a").Unseen)
		if at, _ := n.pleg.LastRelist(); !at.IsZero() {
			t.Error("a relist with errors counts as good")
		}
		undo()
		n.check(n.pleg.Relist(t.Context(), "period"))
		equal(t, "a", "running", n.state("a"))
	})
}

// If the runtime fails to list its pods for three minutes, the PLEG is not healthy until it lists them again. It is asked once a second meanwhile.
func TestHung(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"fails": {Method: "ListContainers", Code: codes.Internal, Message: "broken"},
		"hangs": {Method: "ListPodSandbox", Hang: true},
	} {
		inBubble(t, func(t *testing.T, n *node, run func()) {
			if err := n.pleg.Hung(); err != nil {
				t.Errorf("%s: before the first relist: %v", name, err)
			}
			n.check(n.pleg.Relist(t.Context(), "start"))
			run()
			pass(time.Hour)
			if err := n.pleg.Hung(); err != nil {
				t.Errorf("%s: no relist is due: %v", name, err)
			}
			undo := n.fault(fault)
			last, _ := n.pleg.LastRelist()
			n.pleg.Demand("test")
			pass(3*time.Minute - time.Second)
			if err := n.pleg.Hung(); err != nil {
				t.Errorf("%s: after less than three minutes: %v", name, err)
			}
			pass(2 * time.Second)
			var hung *HungError
			if err := n.pleg.Hung(); !errors.As(err, &hung) || !hung.Last.Equal(last) || !strings.HasPrefix(err.Error(), "PLEG is not healthy: pleg was last seen active ") {
				t.Errorf("%s: %v, want that the last relist was at %s", name, err, last)
			}
			undo()
			pass(3 * time.Second)
			if err := n.pleg.Hung(); err != nil {
				t.Errorf("%s: listed again: %v", name, err)
			}
			n.srv.Close()
		})
	}
}

// A runtime that lists its pods, but does not know the status of one, is no reason for a node that is not ready.
func TestUnseenIsNotHung(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		n.start("a")
		n.check(n.pleg.Relist(t.Context(), "start"))
		defer n.fault(sim.Fault{Method: "PodSandboxStatus", Pod: "b", Code: codes.Internal, Message: "broken"})()
		n.start("b")
		run()
		pass(time.Hour)
		if err := n.pleg.Hung(); err != nil {
			t.Error(err)
		}
		n.srv.Close()
	})
}

// Events from before the last list are ignored. They do not bring back a pod that was removed meanwhile.
func TestKeptEventsAreOldNews(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		sandbox, _ := n.start("a")
		pass(time.Second)
		_, err := n.srv.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox})
		n.check(err)
		pass(time.Second)
		n.check(n.pleg.Relist(t.Context(), "start"))
		run()
		equal(t, "events", []string(nil), n.got())
		equal(t, "pods", 0, len(n.pleg.Cache().All()))
	})
}

// An event without a status makes the PLEG ask about the pod.
func TestEventWithoutStatus(t *testing.T) {
	inBubble(t, func(_ *testing.T, n *node, run func()) {
		run()
		pass(time.Second)
		n.pleg.take(n.t.Context(), &runtimeapi.ContainerEventResponse{ContainerId: "x", ContainerEventType: runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT})
		pass(time.Second)
		n.relisted(trace.RelistNoStatus)
	})
}

// An event that arrives while a relist asks about its pod is newer than the relist's result; another relist asks about
// the rest.
func TestRelistOvertaken(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		_, id := n.start("a")
		undo := n.fault(sim.Fault{Method: "ContainerStatus", Delay: 5 * time.Second, After: true})
		done := make(chan error, 1)
		go func() { done <- n.pleg.Relist(t.Context(), "start") }()
		pass(time.Second)
		run()
		n.check(n.srv.ExitContainer(id, 3, false))
		pass(5 * time.Second)
		n.check(<-done)
		undo()
		equal(t, "a", "exited", n.state("a"))
		pass(10 * time.Second)
		n.relisted(trace.RelistOvertaken)
	})
}

func TestRefresh(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, _ func()) {
		sandbox, id := n.start("a")
		n.start("b")
		p, err := n.pleg.Refresh(t.Context(), "a")
		n.check(err)
		equal(t, "container", id, p.Newest("main").ID)
		equal(t, "b is not looked at", "none", n.state("b"))
		equal(t, "calls", []string{"ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus"}, n.called())
		equal(t, "events", []string(nil), n.got())
		n.check(n.srv.ExitContainer(id, 0, false))
		_, err = n.srv.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox})
		n.check(err)
		p, err = n.pleg.Refresh(t.Context(), "a")
		n.check(err)
		if p != nil || n.state("a") != "none" {
			t.Errorf("a pod that is gone: %+v, cache %s", p, n.state("a"))
		}
		undo := n.fault(sim.Fault{Method: "ListContainers", Code: codes.Unavailable})
		if _, err = n.pleg.Refresh(t.Context(), "b"); err == nil {
			t.Error("no error")
		}
		undo()
		if d := n.pleg.Refreshes(); d.N != 3 {
			t.Errorf("counted %+v, want all three", d)
		}
	})
}

func TestNewRefusesNoRuntime(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error for a missing Runtime")
	}
}

// A pod whose status call hangs delays the others of a relist for a bounded time.
func TestHungStatus(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, _ func()) {
		undo := n.fault(sim.Fault{Method: "PodSandboxStatus", Pod: "hung", Hang: true})
		defer undo()
		for _, name := range []string{"hung", "a", "b", "c", "d", "e", "f"} {
			n.start(name)
		}
		began := time.Now()
		if err := n.pleg.Relist(t.Context(), "test"); err == nil {
			t.Error("no error for the pod that could not be seen")
		}
		if took := time.Since(began); took > statusLimit {
			t.Errorf("the relist took %s", took)
		}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			if got := n.state(name); got != "running" {
				t.Errorf("%s is %s", name, got)
			}
		}
	})
}

// A pod without any status is known to exist, and the PLEG asks about it until its status is available.
func TestUnseen(t *testing.T) {
	inBubble(t, func(t *testing.T, n *node, run func()) {
		undo := n.fault(sim.Fault{Method: "ContainerStatus", Pod: "hung", Hang: true})
		n.start("hung")
		n.start("a")
		var unseen *UnseenError
		if err := n.pleg.Relist(t.Context(), "start"); !errors.As(err, &unseen) {
			t.Fatalf("%v, want an UnseenError", err)
		}
		hung := n.pleg.Cache().Get("hung")
		if hung == nil || !hung.Unseen || !hung.Active() || hung.Sandbox() == nil || n.state("hung") != "running" {
			t.Errorf("%+v", hung)
		}
		if a := n.pleg.Cache().Get("a"); a == nil || a.Unseen {
			t.Errorf("the other: %+v", a)
		}
		run()
		n.got()
		undo()
		pass(statusLimit) // the PLEG gives up on the call that hangs
		n.check(n.pleg.Relist(t.Context(), "test"))
		if got := n.got(); !slices.Contains(got, "ContainerStarted hung") {
			t.Errorf("when it is seen at last: %q", got)
		}
		if hung := n.pleg.Cache().Get("hung"); hung.Unseen || hung.Newest("main").StartedAt.IsZero() {
			t.Errorf("%+v", hung)
		}
		// An earlier status is better than an outline.
		undo = n.fault(sim.Fault{Method: "PodSandboxStatus", Pod: "a", Hang: true})
		defer undo()
		_, err := n.srv.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: n.pleg.Cache().Get("a").Sandbox().ID})
		n.check(err)
		_ = n.pleg.Relist(t.Context(), "test")
		if a := n.pleg.Cache().Get("a"); a == nil || a.Unseen {
			t.Errorf("the other, once it hangs too: %+v", a)
		}
	})
}
