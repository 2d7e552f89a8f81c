package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fake calls its functions, records the calls, and checks that those of one pod are serial.
type fake struct {
	t         *testing.T
	sync      func(ctx context.Context, pod *v1.Pod) (Result, error)
	terminate func(ctx context.Context, pod *v1.Pod, grace *int64) error
	clean     func(ctx context.Context, pod *v1.Pod, remove bool) error

	mu    sync.Mutex
	busy  map[types.UID]bool
	calls []string
}

func (f *fake) enter(pod *v1.Pod, what string) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[pod.UID] {
		f.t.Errorf("%s of %s while another call is under way", what, pod.UID)
	}
	if f.busy == nil {
		f.busy = map[types.UID]bool{}
	}
	f.busy[pod.UID] = true
	f.calls = append(f.calls, fmt.Sprintf("%s %s", what, pod.Name))
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy[pod.UID] = false
	}
}

// took returns the calls since the last call of took.
func (f *fake) took() []string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fake) Sync(ctx context.Context, pod *v1.Pod, _ uint64) (Result, error) {
	defer f.enter(pod, "sync")()
	if f.sync == nil {
		return Result{}, nil
	}
	return f.sync(ctx, pod)
}

func (f *fake) Terminate(ctx context.Context, pod *v1.Pod, grace *int64, _ string, _ uint64) error {
	defer f.enter(pod, "terminate")()
	if f.terminate == nil {
		return nil
	}
	return f.terminate(ctx, pod, grace)
}

func (f *fake) Clean(ctx context.Context, pod *v1.Pod, remove bool, _ uint64) error {
	what := "clean"
	if remove {
		what = "remove"
	}
	defer f.enter(pod, what)()
	if f.clean == nil {
		return nil
	}
	return f.clean(ctx, pod, remove)
}

func podOf(name, uid string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: types.UID(uid),
		Annotations: map[string]string{podspec.AnnotationSource: podspec.SourceFile},
	}}
}

// start runs a manager until the returned function is called, which checks that
// every wait has ended.
func start(t *testing.T, f *fake, cfg Config) (m *Manager, rec *tracetest.Recorder, stop func()) {
	t.Helper()
	f.t = t
	rec = tracetest.New(t)
	cfg.Syncer, cfg.Bus = f, rec.Bus()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return m, rec, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if open := openWaits(rec); len(open) > 0 {
			t.Errorf("waits without an end: %v", open)
		}
	}
}

// openWaits are the waits that have begun and not ended.
func openWaits(rec *tracetest.Recorder) []string {
	open := map[trace.SpanID]string{}
	for _, r := range rec.OfKind("pod.wait") {
		w, _ := r.Event.(*trace.Wait)
		switch r.Edge {
		case trace.EdgeBegin:
			open[r.Span] = fmt.Sprintf("%s: %s (%s)", w.For, say.On(w), say.Detail(w, r.Start()))
		case trace.EdgeEnd:
			delete(open, r.Span)
		case trace.EdgePoint:
		}
	}
	var out []string
	for _, w := range open {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}

func add(pod *v1.Pod) Ask { return Ask{Pod: pod, Cause: Cause{Text: "ADD"}} }

func remove(pod *v1.Pod) Ask {
	return Ask{Pod: pod, End: true, Remove: true, Reason: "removed", Cause: Cause{Text: "REMOVE"}}
}

func expect(t *testing.T, f *fake, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, f.took()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// pass advances simulated time and waits until everything due has happened.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		m, rec, stop := start(t, f, Config{})
		pod := podOf("web", "u1")
		m.Ask("u1", add(pod))
		expect(t, f, "sync web")
		m.Ask("u1", remove(pod))
		expect(t, f, "terminate web", "remove web")
		if got := m.State("u1"); got != None {
			t.Errorf("state %s after the end, want none", got)
		}
		stop()
		var moves []string
		for _, e := range tracetest.Events[trace.Worker](rec) {
			moves = append(moves, string(e.From)+"→"+string(e.To))
		}
		want := []string{"none→syncing", "syncing→terminating", "terminating→terminated", "terminated→gone"}
		if d := cmp.Diff(want, moves); d != "" {
			t.Errorf("published moves (-want +got):\n%s", d)
		}
	})
}

func TestKillInterruptsSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sync: func(ctx context.Context, _ *v1.Pod) (Result, error) {
			<-ctx.Done()
			return Result{}, ctx.Err()
		}}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		expect(t, f, "sync web")
		m.Ask("u1", remove(podOf("web", "u1")))
		expect(t, f, "terminate web", "remove web")
		stop()
	})
}

func TestShorterGraceInterruptsTermination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var graces []int64
		f := &fake{terminate: func(ctx context.Context, _ *v1.Pod, grace *int64) error {
			graces = append(graces, *grace)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(*grace) * time.Second):
				return nil
			}
		}}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		end := remove(podOf("web", "u1"))
		for _, g := range []int64{30, 60, 2} {
			end.Grace = &g
			m.Ask("u1", end)
			synctest.Wait()
		}
		began := time.Now()
		pass(2 * time.Second)
		if got := m.State("u1"); got != None {
			t.Errorf("state %s %s after the grace period was cut to 2 s, want none", got, time.Since(began))
		}
		if d := cmp.Diff([]int64{30, 2}, graces); d != "" {
			t.Errorf("grace periods (-want +got):\n%s", d)
		}
		stop()
	})
}

func TestRetryBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Duration
		began, broken := time.Now(), true
		f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			if broken {
				return Result{}, errors.New("no luck")
			}
			return Result{}, nil
		}}
		m, rec, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		pass(26 * time.Second)
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 25 * time.Second}
		if d := cmp.Diff(want, at); d != "" {
			t.Errorf("tries (-want +got):\n%s", d)
		}
		want2 := []string{"backoff: the retry after an error (no luck)"}
		if d := cmp.Diff(want2, openWaits(rec)); d != "" {
			t.Errorf("open waits (-want +got):\n%s", d)
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		pass(10 * time.Second)
		if open := openWaits(rec); len(open) > 0 {
			t.Errorf("waits that are open after success: %v", open)
		}
		mu.Lock()
		at, began, broken = nil, time.Now(), true
		mu.Unlock()
		m.Wake("u1", Cause{Text: "ContainerDied"})
		pass(1500 * time.Millisecond)
		if d := cmp.Diff([]time.Duration{0, time.Second}, at); d != "" {
			t.Errorf("tries after a success (-want +got):\n%s", d)
		}
		stop()
	})
}

// driverMissing is an error that says what the pod waits for.
type driverMissing struct{}

func (driverMissing) Error() string { return "no driver" }

func (driverMissing) Wait() trace.Wait {
	return trace.Wait{For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetDRADriver, Name: "gpu"}}.WithCause("no driver")
}

// The wait for a retry is what the error says, whether the syncer gave the time of the retry or not.
func TestErrorThatNamesItsWait(t *testing.T) {
	for _, at := range []time.Duration{0, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			err := fmt.Errorf("claims: %w", driverMissing{})
			f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) {
				var res Result
				if at > 0 {
					res.RetryAt = time.Now().Add(at)
				}
				return res, errors.Join(errors.New("other"), err)
			}, terminate: func(context.Context, *v1.Pod, *int64) error { return err }}
			m, rec, stop := start(t, f, Config{})
			defer stop()
			pod := podOf("web", "u1")
			m.Ask("u1", add(pod))
			want := []string{"claims: DRA driver gpu (no driver)"}
			pass(time.Millisecond)
			if d := cmp.Diff(want, openWaits(rec)); d != "" {
				t.Errorf("open waits (-want +got):\n%s", d)
			}
			m.Ask("u1", Ask{Pod: pod, End: true})
			pass(time.Millisecond)
			if d := cmp.Diff(want, openWaits(rec)); d != "" {
				t.Errorf("open waits while it terminates (-want +got):\n%s", d)
			}
		})
	}
}

// A failing sync causes runtime events, which wake the worker while the sync runs and after it. This must not turn the
// back-off into a busy loop.
func TestOwnEventsDoNotDefeatBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *Manager
		var tries atomic.Int32
		f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) {
			tries.Add(1)
			m.Wake("u1", Cause{Text: "ContainerCreated"})
			return Result{RetryAt: time.Now().Add(5 * time.Minute)}, errors.New("no luck")
		}}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		for range 100 {
			synctest.Wait()
			m.Wake("u1", Cause{Text: "ContainerDied"})
		}
		if n := tries.Load(); n != 1 {
			t.Errorf("%d tries at once, want 1", n)
		}
		pass(1500 * time.Millisecond)
		if n := tries.Load(); n != 2 {
			t.Errorf("%d tries after 1.5 s, want 2", n)
		}
		m.Ask("u1", add(podOf("web2", "u1")))
		synctest.Wait()
		if n := tries.Load(); n != 3 {
			t.Errorf("%d tries after an update, want 3 at once", n)
		}
		stop()
	})
}

// An image's back-off may take minutes. A container that dies meanwhile is handled within the worker's own back-off.
func TestEventsDuringALongBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) {
			return Result{RetryAt: time.Now().Add(5 * time.Minute), Wait: trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "the image"}}}, errors.New("ImagePullBackOff")
		}}
		m, rec, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		expect(t, f, "sync web")
		if d := cmp.Diff([]string{"backoff: the image (next attempt in 5m0s)"}, openWaits(rec)); d != "" {
			t.Errorf("open waits (-want +got):\n%s", d)
		}
		m.Wake("u1", Cause{Text: "ContainerDied"})
		expect(t, f)
		pass(time.Second)
		expect(t, f, "sync web")
		pass(time.Minute)
		expect(t, f)
		m.Wake("u1", Cause{Text: "ContainerDied"})
		expect(t, f, "sync web")
		stop()
	})
}

// What failed and has no back-off of its own does not wait for that of something else.
func TestRetrySoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) {
			return Result{RetryAt: time.Now().Add(5 * time.Minute), Soon: true}, errors.New("CrashLoopBackOff of one container, and no Secret for the other")
		}}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		expect(t, f, "sync web")
		pass(1500 * time.Millisecond)
		expect(t, f, "sync web")
		stop()
	})
}

func TestRetryAtOfASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) {
			return Result{RetryAt: time.Now().Add(10 * time.Second), Wait: trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "CrashLoopBackOff"}}}, nil
		}}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		expect(t, f, "sync web")
		pass(5 * time.Second)
		m.Wake("u1", Cause{Text: "ContainerDied"})
		expect(t, f, "sync web")
		pass(9 * time.Second)
		expect(t, f)
		pass(time.Second)
		expect(t, f, "sync web")
		stop()
	})
}

func TestDueGoesToTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := make(chan types.UID, 1)
		f := &fake{sync: func(context.Context, *v1.Pod) (Result, error) { return Result{}, errors.New("no luck") }}
		m, _, stop := start(t, f, Config{Due: func(uid types.UID) { due <- uid }})
		m.Ask("u1", add(podOf("web", "u1")))
		if uid := <-due; uid != "u1" {
			t.Errorf("due: %s", uid)
		}
		expect(t, f, "sync web")
		m.Wake("u1", Cause{Text: "due", Retry: true})
		expect(t, f, "sync web")
		stop()
	})
}

func TestStaticPodWaitsForItsPredecessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		f := &fake{terminate: func(context.Context, *v1.Pod, *int64) error { <-slow; return nil }}
		m, rec, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		m.Ask("u2", add(podOf("web", "u2")))
		m.Ask("u3", add(podOf("other", "u3")))
		synctest.Wait()
		f.took()
		m.Ask("u1", remove(podOf("web", "u1")))
		m.Wake("u2", Cause{Text: "ContainerDied"})
		expect(t, f, "terminate web")
		if d := cmp.Diff([]string{"pod: removal of the earlier pod of this name (only one pod of a name may run)"}, openWaits(rec)); d != "" {
			t.Errorf("open waits (-want +got):\n%s", d)
		}
		close(slow)
		expect(t, f, "remove web", "sync web")
		if got := m.State("u2"); got != Syncing {
			t.Errorf("the successor is %s", got)
		}
		stop()
	})
}

// A pod that terminates while it waits for its predecessor stops waiting, its wait ends, and the next pod still waits
// for the first.
func TestHeldPodThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		m, rec, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("web", "u1")))
		m.Ask("u2", add(podOf("web", "u2")))
		m.Ask("u3", add(podOf("web", "u3")))
		expect(t, f, "sync web")
		m.Ask("u2", remove(podOf("web", "u2")))
		expect(t, f, "terminate web", "remove web")
		if n := len(openWaits(rec)); n != 1 {
			t.Errorf("%d waits are open, want that of u3: %v", n, openWaits(rec))
		}
		m.Ask("u1", remove(podOf("web", "u1")))
		expect(t, f, "terminate web", "remove web", "sync web")
		stop()
	})
}

func TestAskedAnewWhileItGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *Manager
		f := &fake{}
		f.clean = func(_ context.Context, pod *v1.Pod, remove bool) error {
			if remove && pod.Name == "old" {
				m.Ask("u1", add(podOf("new", "u1")))
			}
			return nil
		}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("old", "u1")))
		m.Ask("u1", remove(podOf("old", "u1")))
		synctest.Wait()
		calls := f.took()
		if d := cmp.Diff([]string{"terminate old", "remove old", "sync new"}, calls[len(calls)-3:]); d != "" {
			t.Errorf("calls (-want +got):\n%s", d)
		}
		stop()
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sync: func(ctx context.Context, pod *v1.Pod) (Result, error) {
			switch pod.Name {
			case "busy":
				<-ctx.Done()
				return Result{}, ctx.Err()
			case "failing":
				return Result{}, errors.New("no luck")
			}
			return Result{}, nil
		}}
		m, _, stop := start(t, f, Config{})
		m.Ask("u1", add(podOf("busy", "u1")))
		m.Ask("u2", add(podOf("failing", "u2")))
		m.Ask("u3", add(podOf("fine", "u3")))
		m.Ask("u4", add(podOf("fine", "u4")))
		synctest.Wait()
		f.took()
		stop() // the bubble panics if a goroutine is left
		m.Ask("u5", add(podOf("fine", "u5")))
		m.Ask("u3", remove(podOf("fine", "u3")))
		m.Wake("u1", Cause{Text: "late"})
		pass(time.Minute)
		expect(t, f)
	})
}

// Many goroutines request, wake and end many pods. Afterwards each pod whose end was requested is gone, each other one
// runs its last spec, and no work ran twice at once.
func TestManyAtOnce(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) { storm(t, round) })
	}
}

func storm(t *testing.T, seed int) {
	t.Helper()
	const pods, specs = 4, 20
	var mu sync.Mutex
	ran := map[types.UID]string{}
	n := seed
	f := &fake{sync: func(ctx context.Context, pod *v1.Pod) (Result, error) {
		mu.Lock()
		n++
		k := n
		mu.Unlock()
		if k%7 == 0 {
			return Result{}, errors.New("no luck")
		}
		if k%3 == 0 {
			select {
			case <-ctx.Done():
				return Result{}, ctx.Err()
			case <-time.After(time.Duration(k%5) * time.Millisecond):
			}
		}
		mu.Lock()
		ran[pod.UID] = pod.Name
		mu.Unlock()
		return Result{}, nil
	}}
	m, _, stop := start(t, f, Config{})
	var wg sync.WaitGroup
	for i := range pods {
		uid := types.UID(fmt.Sprint("u", i))
		wg.Go(func() {
			for j := range specs {
				m.Ask(uid, add(podOf(fmt.Sprintf("p%d.%d", i, j), string(uid))))
				if (j+i+seed)%6 == 0 {
					m.Ask(uid, remove(podOf(fmt.Sprintf("p%d.%d", i, j), string(uid))))
				}
				if (j+seed)%4 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			if i%2 == 0 {
				m.Ask(uid, remove(podOf("last", string(uid))))
			} else {
				m.Ask(uid, add(podOf(fmt.Sprintf("p%d.last", i), string(uid))))
			}
		})
		wg.Go(func() {
			for j := range specs {
				m.Wake(uid, Cause{Text: "ContainerDied"})
				_ = m.State(uid)
				_ = m.Pods()
				if j%3 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Minute)
	synctest.Wait()
	for i := range pods {
		uid := types.UID(fmt.Sprint("u", i))
		if i%2 == 0 {
			if got := m.State(uid); got != None {
				t.Errorf("seed %d: %s is %s, want it gone", seed, uid, got)
			}
			continue
		}
		mu.Lock()
		got := ran[uid]
		mu.Unlock()
		if want := fmt.Sprintf("p%d.last", i); got != want {
			t.Errorf("seed %d: %s ran %q last, want %q", seed, uid, got, want)
		}
	}
	stop()
}

func TestNewRefusesNoSyncer(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error for a missing Syncer")
	}
}
