package podruntime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"google.golang.org/grpc"

	"github.com/kubeloupe/kubeloupe/agent/events"
)

// fakeHooks runs the operation that the hook's command names.
type fakeHooks struct{ *world }

func (w fakeHooks) Run(ctx context.Context, _ *v1.Pod, _ *v1.Container, id, ip string, h *v1.LifecycleHandler) (string, error) {
	if h.Sleep != nil {
		return "", w.do(ctx, "sleep of "+id)
	}
	err := w.do(ctx, fmt.Sprintf("hook %s of %s at %s", h.Exec.Command[0], id, ip))
	if err != nil {
		return "it said no", err
	}
	return "", nil
}

// toldEvents records events.
type toldEvents struct {
	events.Publisher
	mu   sync.Mutex
	told []string
}

func (e *toldEvents) Pod(_ context.Context, _ *v1.Pod, container, kind, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, kind+" "+reason+" "+container+": "+message)
}

// stops records the grace periods of containers.
type stops struct {
	fakeCRI
	got map[string]int64
}

func (s *stops) StopContainer(ctx context.Context, r *runtimeapi.StopContainerRequest, o ...grpc.CallOption) (*runtimeapi.StopContainerResponse, error) {
	s.mu.Lock()
	s.got[r.GetContainerId()] = r.GetTimeout()
	s.mu.Unlock()
	return s.fakeCRI.StopContainer(ctx, r, o...)
}

func withHooks(w *world) (*toldEvents, *stops) {
	events, s := &toldEvents{}, &stops{fakeCRI: fakeCRI{w}, got: map[string]int64{}}
	w.rt.cfg.Hooks, w.rt.cfg.Events, w.rt.cfg.Containers = fakeHooks{w}, events, s
	return events, s
}

func TestPostStartFails(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		events, s := withHooks(w)
		w.on("hook web of web-0 at 10.0.0.1", func(context.Context) error { return errors.New("exit 1") })
		pod := podOf(v1.RestartPolicyAlways, hooked(containerNamed("web")), containerNamed("log"))
		pod.Spec.Containers[0].Lifecycle.PreStop = nil
		out, err := w.rt.Sync(t.Context(), pod, 1, nil)
		if err == nil || out.Running {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		equal(t, "reasons", map[string]Reason{"web": {Reason: "PostStartHookError", Message: "it said no"}}, w.rt.Reasons("uid"))
		did := w.did()
		at := slices.Index(did, "start web")
		equal(t, "did", []string{"start web", "hook web of web-0 at 10.0.0.1", "stop web-0", "start log"}, slices.DeleteFunc(did[at:], func(s string) bool {
			return s == "create log" || s == "image log:1"
		}))
		equal(t, "grace", map[string]int64{"web-0": 30}, s.got)
		for _, want := range []string{
			"Normal Created web: Container created", "Normal Started web: Container started",
			"Warning FailedPostStartHook web: PostStartHook failed", "Normal Killing web: FailedPostStartHook",
		} {
			if !slices.Contains(events.told, want) {
				t.Errorf("told %q, want %q", events.told, want)
			}
		}
	})
}

// With grace period 0, a container whose postStart hook failed is killed without its preStop hook.
func TestPostStartFailsWithoutGracePeriod(t *testing.T) {
	for grace, hooks := range map[int64]int{0: 1, 30: 2} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			withHooks(w)
			w.on("hook web of web-0 at 10.0.0.1", func(context.Context) error { return errors.New("exit 1") })
			pod := podOf(v1.RestartPolicyAlways, hooked(containerNamed("web")))
			pod.Spec.TerminationGracePeriodSeconds = &grace
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err == nil {
				t.Error("no error")
			}
			ran := slices.DeleteFunc(w.did(), func(op string) bool { return !strings.HasPrefix(op, "hook ") })
			equal(t, "hooks that ran", hooks, len(ran))
		})
	}
}

// The hook's time counts toward the grace period; at least two seconds are left.
func TestPreStopTakesOfTheGracePeriod(t *testing.T) {
	for _, tc := range []struct {
		hook time.Duration
		want int64
	}{{0, 30}, {12500 * time.Millisecond, 18}, {time.Hour, 2}} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			_, s := withHooks(w)
			w.on("hook web of web-0 at 10.0.0.1", func(ctx context.Context) error {
				select {
				case <-time.After(tc.hook):
				case <-ctx.Done():
				}
				return ctx.Err()
			})
			w.show(seen("sandbox:0", "web=running"))
			pod := podOf(v1.RestartPolicyAlways, hooked(containerNamed("web")))
			if err := w.rt.Kill(t.Context(), pod, nil, "deleted", 1); err != nil {
				t.Error(err)
			}
			equal(t, "grace", map[string]int64{"web-0": tc.want}, s.got)
		})
	}
}

// A hook that takes longer than the grace period lives as long as its container, as upstream. A hook that does not end with it is
// canceled a second later.
func TestPreStopLivesAsLongAsItsContainer(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fails bool // the hook ends with its container
		took  time.Duration
		told  []string
	}{
		{"ends with its container", true, 32 * time.Second, []string{"Normal Killing web: Stopping container web", "Warning FailedPreStopHook web: PreStopHook failed"}},
		{"does not end", false, 33 * time.Second, []string{"Normal Killing web: Stopping container web"}},
	} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			events, s := withHooks(w)
			exited := make(chan struct{})
			w.on("hook web of web-0 at 10.0.0.1", func(ctx context.Context) error {
				select {
				case <-exited:
					return errors.New("exited with 137")
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			w.on("stop web-0", func(context.Context) error {
				time.Sleep(2 * time.Second)
				equal(t, tc.name+": while it stops", []string{"hook web of web-0 at 10.0.0.1", "stop web-0"}, w.busyNow())
				if tc.fails {
					close(exited)
				}
				return nil
			})
			w.show(seen("sandbox:0", "web=running"))
			began := time.Now()
			if err := w.rt.Kill(t.Context(), podOf(v1.RestartPolicyAlways, hooked(containerNamed("web"))), nil, "deleted", 1); err != nil {
				t.Error(err)
			}
			equal(t, tc.name+": it took", tc.took, time.Since(began))
			equal(t, tc.name+": grace", map[string]int64{"web-0": 2}, s.got)
			equal(t, tc.name+": told", tc.told, events.told)
			equal(t, tc.name+": what still runs", []string(nil), w.busyNow())
		})
	}
}

// A sleep that is longer than the grace period ends with it.
func TestPreStopSleepEndsWithTheGracePeriod(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		_, s := withHooks(w)
		w.on("sleep of web-0", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		w.on("stop web-0", func(context.Context) error {
			equal(t, "while it stops", []string{"stop web-0"}, w.busyNow())
			return nil
		})
		pod := podOf(v1.RestartPolicyAlways, containerNamed("web"))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 100}}}
		w.show(seen("sandbox:0", "web=running"))
		began := time.Now()
		if err := w.rt.Kill(t.Context(), pod, nil, "deleted", 1); err != nil {
			t.Error(err)
		}
		equal(t, "it took", 30*time.Second, time.Since(began))
		equal(t, "grace", map[string]int64{"web-0": 2}, s.got)
	})
}

// If a container cannot be stopped, its hook ends with the attempt.
func TestPreStopOfAContainerThatCannotBeStopped(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		withHooks(w)
		ctx, cancel := context.WithCancel(t.Context())
		w.on("hook web of web-0 at 10.0.0.1", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		w.on("stop web-0", func(ctx context.Context) error { cancel(); return ctx.Err() })
		w.show(seen("sandbox:0", "web=running"))
		if err := w.rt.Kill(ctx, podOf(v1.RestartPolicyAlways, hooked(containerNamed("web"))), nil, "deleted", 1); err == nil {
			t.Error("no error")
		}
		equal(t, "what still runs", []string(nil), w.busyNow())
	})
}

// A shorter grace period cancels a running hook; the hook does not run again.
func TestForcedWhileTheHookRuns(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		events, s := withHooks(w)
		w.block("hook web of web-0 at 10.0.0.1")
		w.show(seen("sandbox:0", "web=running"))
		pod := podOf(v1.RestartPolicyAlways, hooked(containerNamed("web")))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.rt.Kill(ctx, pod, nil, "deleted", 1) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		began := time.Now()
		if err := w.rt.Kill(t.Context(), pod, new(int64(0)), "deleted", 1); err != nil {
			t.Error(err)
		}
		equal(t, "it took", time.Duration(0), time.Since(began))
		equal(t, "grace", map[string]int64{"web-0": 2}, s.got)
		equal(t, "did", []string{"hook web of web-0 at 10.0.0.1", "stop web-0", "stop sandbox sb0"}, w.did())
		equal(t, "told", []string{"Normal Killing web: Stopping container web", "Normal Killing web: Stopping container web"}, events.told)
	})
}

// A sidecar waits for its turn, but no longer than the grace period.
func TestSidecarsAreNotPatientForEver(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		_, s := withHooks(w)
		pod := withInit(always("web"), sidecarNamed("mesh"), sidecarNamed("later"))
		w.show(seen("sandbox:0", "web=running", "mesh=running", "later=running"))
		release := w.block("stop web-0")
		done := make(chan error, 1)
		go func() { done <- w.rt.Kill(t.Context(), pod, nil, "deleted", 1) }()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		equal(t, "under way", []string{"stop web-0"}, w.busyNow())
		time.Sleep(time.Second)
		synctest.Wait()
		did := w.did()
		slices.Sort(did)
		equal(t, "did", []string{"stop later-0", "stop mesh-0", "stop web-0"}, did)
		equal(t, "grace", map[string]int64{"web-0": 30, "later-0": 2, "mesh-0": 2}, s.got)
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestDebuggerJoinsItsTarget(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := withDebugger(always("web"))
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		if did := w.did(); slices.Contains(did, "create dbg") {
			t.Errorf("did %v: its target does not run yet", did)
		}
		w.show(seen("sandbox:0", "web=running"))
		r := &run{Runtime: w.rt, pod: pod, seen: w.truth}
		if id, err := r.joins("dbg"); id != "web-0" || err != nil {
			t.Errorf("joins %q, %v", id, err)
		}
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "did", []string{"image dbg:1", "mount", "create dbg", "start dbg"}, w.did())
	})
}

// When all containers have been removed, the pod starts again.
func TestAllContainersRestart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web", "log")
		pod.Spec.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyNever)
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
		w.show(seen("sandbox:0", "web=exited/42", "log=running"))
		told := 0
		out, err := w.rt.Sync(t.Context(), pod, 1, func(context.Context) {
			told++
			if did := w.did(); len(did) > 0 {
				t.Errorf("the status tells of the restart after %v", did)
			}
		})
		if err != nil || !out.RetryAt.Equal(time.Now()) || out.Finished {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		equal(t, "statuses", 1, told)
		equal(t, "did", []string{"stop log-0", "remove log-0", "remove web-0"}, w.did())
		// The cache still shows them: nothing is removed twice.
		if out, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil || !out.Early {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		w.show(seen("sandbox:0"))
		if _, err := w.rt.Sync(t.Context(), pod, 1, func(context.Context) {
			told++
			if did := w.did(); len(did) > 0 {
				t.Errorf("the status tells of the restart's end after %v", did)
			}
		}); err != nil {
			t.Error(err)
		}
		equal(t, "statuses", 2, told)
		if did := w.did(); !slices.Contains(did, "start web") || !slices.Contains(did, "start log") {
			t.Errorf("did %v", did)
		}
	})
}

// All containers restart in a new sandbox if theirs was lost in the same moment.
func TestAllContainersRestartWithoutSandbox(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := podWith(v1.RestartPolicyNever, "web", "log")
		pod.Spec.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyNever)
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
		w.show(seen("-sandbox:0", "web=exited/42", "log=exited/137"))
		out, err := w.rt.Sync(t.Context(), pod, 1, nil)
		if err != nil || !out.RetryAt.Equal(time.Now()) || out.Finished {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		equal(t, "did", []string{"remove log-0", "remove web-0"}, w.did())
		w.show(seen("-sandbox:0"))
		out, err = w.rt.Sync(t.Context(), pod, 1, nil)
		if err != nil || !out.Running {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		all := w.did()
		for _, did := range []string{"stop sandbox sb0", "run sandbox", "start web", "start log"} {
			if !slices.Contains(all, did) {
				t.Errorf("did %v, want %s", all, did)
			}
		}
	})
}

// The agent forgets which removed containers were stopped: a pod whose container fails its probe every few minutes may
// live for years.
func TestStopsAreForgotten(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		withHooks(w)
		pod := podOf(v1.RestartPolicyAlways, hooked(containerNamed("web")))
		w.show(seen("sandbox:0", "web=running"))
		r := &run{Runtime: w.rt, pod: pod}
		for i := range 1000 {
			if !r.firstStop(fmt.Sprint("old-", i)) {
				t.Fatal("not the first time")
			}
		}
		if !r.firstStop("web-0") || r.firstStop("web-0") {
			t.Error("web-0 is told to stop twice, or not at all")
		}
		if n := len(w.rt.knowledgeOf(pod.UID).hooked); n != 1 {
			t.Errorf("%d containers are remembered, want the one that is there", n)
		}
	})
}
