package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/nodelock"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Pods start, one that exits is restarted, and nothing is left of one that is removed.
func TestPodsLive(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, h.config())
	web, db, crash := podOf("web"), podOf("db"), podOf("crash", "sh", "-c", "exit 3")
	n.source.Set(web, db, crash)
	for _, p := range []*v1.Pod{web, db, crash} {
		n.until("start of "+p.Name, milestone("started", p))
	}
	n.until("ready", milestone("ready", web))
	n.until("restart", func(r *trace.Record) bool {
		s, ok := r.Event.(*trace.PodStatus)
		return ok && r.Pod.Name == "crash" && s.Restarts == 1
	})
	if got := len(n.Pods()); got != 3 {
		t.Errorf("%d pods, want 3", got)
	}
	n.source.Set(web)
	n.until("end of db", milestone("gone", db))
	n.until("end of crash", milestone("gone", crash))
	if got := h.sandboxes(); got != 1 {
		t.Errorf("the runtime has %d sandboxes, want that of web", got)
	}
	if pods := n.Pods(); len(pods) != 1 || pods[0].Name != "web" || pods[0].Status.Phase != v1.PodRunning {
		t.Errorf("pods %+v", pods)
	}
	n.end()
	if got := h.sandboxes(); got != 1 {
		t.Errorf("the runtime has %d sandboxes after the agent's end, want that of web", got)
	}
}

// Run ends with its context, whatever the pods' states: it leaves no goroutine, and every begin has its end.
func TestRunLeavesNothing(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{"RunPodSandbox": {Fixed: 10 * time.Millisecond}})
	if _, err := h.srv.Inject(sim.Fault{Method: "StartContainer", Pod: "stuck", Hang: true}); err != nil {
		t.Fatal(err)
	}
	n := run(t, h.config("--healthz-port", fmt.Sprint(freePort(t))))
	initial := podOf("initial")
	initial.Spec.InitContainers = []v1.Container{{Name: "wait", Image: "app:1", TerminationMessagePath: "/dev/termination-log"}}
	missing := podOf("missing")
	missing.Spec.Containers[0].Image = "nowhere:1"
	fine := podOf("fine")
	n.source.Set(fine, podOf("crash", "sh", "-c", "exit 3"), podOf("stuck"), initial, missing)
	n.until("start", milestone("started", fine))
	n.until("the init container", waiting(trace.WaitInit))
	n.untilAll("the back-offs", 2, waiting(trace.WaitBackoff))
	n.until("the stuck call", func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.CRICall)
		return ok && c.Method == "StartContainer" && r.Pod.Name == "stuck"
	})
	n.end()
	if open := n.open(); len(open) > 0 {
		t.Errorf("begun and not ended:\n%s", strings.Join(open, "\n"))
	}
	if last := n.records()[len(n.records())-1]; !state("stopped")(&last) {
		t.Errorf("the last record is %s %+v, want the agent's end", last.Event.Kind(), last.Event)
	}
	leavesNoGoroutine(t)
}

func leavesNoGoroutine(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for stacks() != "" && time.Now().Before(deadline) {
		runtime.Gosched() // goroutines that Run waited for may still be exiting
	}
	if left := stacks(); left != "" {
		t.Errorf("goroutines that are left:\n%s", left)
	}
}

func waiting(kind trace.WaitKind) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Wait)
		return ok && r.Edge == trace.EdgeBegin && w.For == kind
	}
}

// A second agent adopts the first one's pods unchanged.
func TestAdoption(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	pods := []*v1.Pod{podOf("a"), podOf("b"), podOf("c")}
	first := run(t, h.config())
	first.source.Set(pods...)
	first.untilAll("ready", len(pods), milestone("ready", nil))
	first.end()

	second := run(t, h.config())
	second.source.Set(pods...)
	for _, p := range pods {
		second.until("adoption of "+p.Name, func(r *trace.Record) bool {
			m, ok := r.Event.(*trace.Milestone)
			return ok && m.Name == trace.MilestoneStarted && m.Adopted && r.Pod.Name == p.Name
		})
	}
	second.untilAll("ready", len(pods), milestone("ready", nil))
	second.end()
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox"} {
		if count, _ := second.calls(method); count > 0 {
			t.Errorf("the second agent called %s %d times", method, count)
		}
	}
}

// A resize that is made while no agent runs is a resize for the next one: what the pod has is not what its spec requests.
func TestResizedWhileNoAgentRuns(t *testing.T) {
	h := newHost(t, nil)
	requesting := func(cpus string) *v1.Pod {
		p := podOf("a")
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus)}
		return p
	}
	n := run(t, h.config())
	n.source.Set(requesting("100m"))
	n.until("it runs", milestone("started", nil))
	n.end()
	n = run(t, h.config())
	n.source.Set(requesting("200m"))
	n.until("the decision about its resize", func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && d.By == trace.ByResize && d.Verdict == trace.VerdictResize
	})
	n.end()
}

// The agent starts even if the runtime does not return the status of one pod: others are adopted or start, and that pod
// continues unchanged.
func TestHungPodAtStart(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	hung, other, late := podOf("hung"), podOf("other"), podOf("late")
	first := run(t, h.config())
	first.source.Set(hung, other)
	first.untilAll("ready", 2, milestone("ready", nil))
	first.end()

	release, err := h.srv.Inject(sim.Fault{Method: "PodSandboxStatus", Pod: "hung", Hang: true})
	if err != nil {
		t.Fatal(err)
	}
	second := run(t, h.config())
	second.source.Set(hung, other, late)
	second.until("adoption of the other", milestone("ready", other))
	second.until("start of a new one", milestone("ready", late))
	release()
	second.until("adoption of the one that hung", milestone("ready", hung))
	second.end()
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		if count, _ := second.calls(method); count != 1 {
			t.Errorf("the second agent called %s %d times, want once", method, count)
		}
	}
	for _, method := range []string{"StopContainer", "StopPodSandbox"} {
		if count, _ := second.calls(method); count > 0 {
			t.Errorf("the second agent called %s %d times", method, count)
		}
	}
}

// Pods that were deleted while no agent ran are terminated by the next agent, when all sources have reported.
func TestOrphanOfAnEarlierAgent(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	first := run(t, h.config())
	stays, goes := podOf("stays"), podOf("goes")
	first.source.Set(stays, goes)
	first.untilAll("start", 2, milestone("started", nil))
	first.end()

	second := run(t, h.config())
	second.source.Set(stays)
	second.until("end of the orphan", milestone("gone", goes))
	second.end()
	if got := h.sandboxes(); got != 1 {
		t.Errorf("the runtime has %d sandboxes, want 1", got)
	}
}

func TestNoRuntimeAtStart(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	h.stop()
	err := prepare(t, h.config()).Run(t.Context())
	if dial, ok := errors.AsType[*cri.DialError](err); !ok || dial.Remedy == "" {
		t.Fatalf("error %v, want a DialError with a remedy", err)
	}
	h.start()
	run(t, h.config()).end() // and nothing is locked
}

// A static pod starts without the API server, which may be that pod. No record says that it waits for one.
func TestStaticPodWithoutServer(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, h.config(h.kubeconfig("http://127.0.0.1:1")...)) // nothing listens there
	p := podOf("kube-apiserver")
	n.source.Set(p)
	n.until("start", func(r *trace.Record) bool {
		if a, ok := r.Event.(*trace.Action); ok && a.Err != "" {
			t.Fatalf("%s failed: %s", a.ID, a.Err)
		}
		return milestone("started", p)(r)
	})
	n.end()
	for _, r := range n.records() {
		if w, ok := r.Event.(*trace.Wait); ok && w.For == trace.WaitObject {
			t.Errorf("waited for %+v", w.Target)
		}
	}
}

// The runtime learns for which pod it pulls: a fault that is for this pod's calls is met by its pull.
func TestPullHasItsPod(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	if _, err := h.srv.Inject(sim.Fault{Method: "PullImage", Pod: "web", Code: codes.PermissionDenied, Message: "rejected by the policy", Times: 1}); err != nil {
		t.Fatal(err)
	}
	n := run(t, h.config())
	p := podOf("web")
	p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
	n.source.Set(p)
	n.until("pull", func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.CRICall)
		if !ok || c.Method != "PullImage" || r.Edge != trace.EdgeEnd {
			return false
		}
		if c.Code != codes.PermissionDenied.String() {
			t.Errorf("PullImage: code %s", c.Code)
		}
		return true
	})
	n.end()
}

// The runtime restarts: the agent reports this, its pods continue, and the agent uses the runtime again.
func TestRuntimeRestarts(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, h.config())
	web, late := podOf("web"), podOf("late")
	n.source.Set(web)
	n.until("ready", milestone("ready", web))
	n.until("event stream", func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.PLEGMode)
		return ok && m.Mode == trace.PLEGEvented
	})
	h.stop()
	n.source.Set(web, late) // requests in the meantime are handled afterwards
	h.start()
	n.until("start of what was asked meanwhile", milestone("started", late))
	n.until("new event stream", func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.PLEGMode)
		return ok && m.Mode == "relist" && strings.HasPrefix(m.Reason, "event stream ended")
	})
	n.source.Set(late)
	n.until("end", milestone("gone", web))
	n.end()
	sandboxes := map[string]int{}
	for _, r := range n.records() {
		if c, ok := r.Event.(*trace.CRICall); ok && c.Method == "RunPodSandbox" && r.Edge == trace.EdgeEnd && c.Code == codes.OK.String() {
			sandboxes[r.Pod.Name]++
		}
	}
	if sandboxes["web"] != 1 || sandboxes["late"] != 1 {
		t.Errorf("sandboxes made: %v, want one for each pod", sandboxes)
	}
}

// A runtime that is not ready holds the loop until it is.
func TestRuntimeNotReady(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	if err := h.srv.SetCondition("RuntimeReady", false, "Starting", "plugins load"); err != nil {
		t.Fatal(err)
	}
	n := run(t, h.config())
	web := podOf("web")
	n.source.Set(web)
	n.until("the agent degraded", state("degraded"))
	n.until("the wait", waiting(trace.WaitRuntime))
	if count, _ := n.calls("RunPodSandbox"); count > 0 {
		t.Error("a sandbox was asked of a runtime that is not ready")
	}
	if err := h.srv.SetCondition("RuntimeReady", true, "", ""); err != nil {
		t.Fatal(err)
	}
	n.until("start", milestone("started", web))
	n.end()
}

// failing is a source that fails on request.
type failing struct{ now chan struct{} }

func (failing) Name() string { return "failing" }

func (f failing) Run(ctx context.Context, set func(podsource.Set)) error {
	set(podsource.Set{})
	select {
	case <-f.now:
		return errors.New("the disk is gone")
	case <-ctx.Done():
		return nil
	}
}

// If a part fails, the agent ends with an error that names it.
func TestPartFails(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	cfg, f := h.config(), failing{make(chan struct{})}
	cfg.Sources = []podsource.Source{f}
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(t.Context()) }()
	<-a.Ready()
	close(f.now)
	if err := <-done; err == nil || err.Error() != "pod sources: pod source failing: the disk is gone" {
		t.Errorf("error %v", err)
	}
	leavesNoGoroutine(t)
	run(t, h.config()).end() // and nothing is locked
}

func TestPortInUse(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	healthz := freePort(t)
	flags := []string{"--address", "127.0.0.1", "--read-only-port", port(taken), "--healthz-port", fmt.Sprint(healthz)}
	n := prepare(t, h.config(flags...))
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--read-only-port") {
		t.Fatalf("error %v, want one that names --read-only-port", err)
	}
	if count, _ := n.calls("RunPodSandbox"); count > 0 {
		t.Error("something was started all the same")
	}
	run(t, h.config("--healthz-port", fmt.Sprint(healthz))).end() // the other port is available again
}

// A start that fails late releases the ports and the lock.
func TestFailedStartLeavesNothing(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	undo, err := h.srv.Inject(sim.Fault{Method: "ListPodSandbox", Code: codes.Internal, Message: "database is broken"})
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close forgotten files
	cfg := h.config("--healthz-port", fmt.Sprint(freePort(t)))
	if err := prepare(t, cfg).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "database is broken") {
		t.Fatalf("error %v, want the runtime's", err)
	}
	undo()
	run(t, cfg).end()
}

func TestSecondAgentOnTheSameDirectory(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	first := run(t, h.config())
	err := prepare(t, h.config()).Run(t.Context())
	if _, held := errors.AsType[*nodelock.HeldError](err); !held {
		t.Errorf("error %v, want a HeldError", err)
	}
	first.end()
	run(t, h.config()).end()
}

// With --lock-file, an agent waits for the lock, reports this, and then runs.
func TestLockFile(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	path := filepath.Join(h.dir, "lock")
	other, err := nodelock.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	n := prepare(t, h.config("--lock-file", path))
	ctx, cancel := context.WithCancel(t.Context())
	n.cancel = cancel
	go func() { n.done <- n.Run(ctx) }()
	n.until("the wait", waiting(trace.WaitLock))
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	n.until("the start", state("ready"))
	n.end()
	if open := n.open(); len(open) > 0 {
		t.Errorf("begun and not ended: %v", open)
	}
}

// With --exit-on-lock-contention, an agent exits when another one opens the lock file.
func TestExitOnLockContention(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that a file is opened")
	}
	h := newHost(t, map[string]sim.Latency{})
	path := filepath.Join(h.dir, "lock")
	n := run(t, h.config("--lock-file", path, "--exit-on-lock-contention"))
	var other *nodelock.Lock
	var err error
	for late := time.Now().Add(patience); other == nil; time.Sleep(time.Millisecond) { // it may not watch the file yet
		if time.Now().After(late) {
			t.Fatalf("the lock is not given up within %s: %v", patience, err)
		}
		if _, held := errors.AsType[*nodelock.HeldError](err); err != nil && !held {
			t.Fatal(err)
		}
		other, err = nodelock.Acquire(path)
	}
	select {
	case err := <-n.done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		t.Fatalf("the agent goes on for %s after it gave up the lock", patience)
	}
	n.until("the reason", func(r *trace.Record) bool {
		a, ok := r.Event.(*trace.Agent)
		return ok && a.State == trace.AgentStopped && strings.Contains(a.Reason, path)
	})
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := agent.New(agent.Config{})
	for _, want := range []string{"Kubelet", "Endpoint", "NodeName"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
	h := newHost(t, map[string]sim.Latency{})
	if _, err := agent.New(h.config()); err == nil || !strings.Contains(err.Error(), "--pod-manifest-path") {
		t.Errorf("error %v, want one that says where pods could come from", err)
	}
}

// Many pods at once, with the latencies of a real runtime: all start, nothing is lost, and no more sandboxes are
// created at once than there are slots.
func TestManyPodsAtOnce(t *testing.T) {
	count := 200
	if testing.Short() {
		count = 30
	}
	h := newHost(t, nil)
	n := run(t, h.config("--max-pods", fmt.Sprint(count)))
	pods := make([]*v1.Pod, 0, count)
	for i := range count {
		pods = append(pods, podOf(fmt.Sprintf("pod-%03d", i)))
	}
	n.source.Set(pods...)
	n.untilAll("started", count, milestone("started", nil))
	n.untilAll("ready", count, milestone("ready", nil))
	n.end()
	once := map[string]int{}
	for _, r := range n.records() {
		if m, ok := r.Event.(*trace.Milestone); ok {
			once[string(m.Name)+" "+r.Pod.Name]++
		}
	}
	for _, p := range pods {
		for _, name := range []string{"seen", "started", "ready"} {
			if got := once[name+" "+p.Name]; got != 1 {
				t.Errorf("%s %s came %d times", p.Name, name, got)
			}
		}
	}
	slots := max(2, 2*runtime.NumCPU())
	for _, r := range n.records() { // on a busy machine, calls may lose their slots
		if d, ok := r.Event.(*trace.Decision); ok && d.By == trace.BySlots {
			slots++
		}
	}
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		got, most := n.calls(method)
		if got != count || most > slots {
			t.Errorf("%s was called %d times, %d at once at most; want %d, and %d at once", method, got, most, count, slots)
		}
	}
	if _, most := n.calls("RunPodSandbox"); most < 2 {
		t.Errorf("sandboxes were made one by one")
	}
	if open := n.open(); len(open) > 0 {
		t.Errorf("begun and not ended:\n%s", strings.Join(open, "\n"))
	}
}

// given are the ports that freePort has returned.
var given sync.Map

// freePort returns a port that nobody has, and each only once. It is none of those that the kernel gives to whoever wants any: another
// test could get it before it is in use here.
func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 20_000 + rand.IntN(10_000)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func port(l net.Listener) string { return fmt.Sprint(l.Addr().(*net.TCPAddr).Port) }
