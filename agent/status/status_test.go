package status

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// conditions returns "type status", in the API's order.
func conditions(p *v1.Pod) string {
	var out []string
	for _, c := range p.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return strings.Join(out, " ")
}

func TestSet(t *testing.T) {
	running(t, nil, func(b *bench) {
		p, ctx := b.pod("a"), b.t.Context()
		b.Set(ctx, p, start())
		expect(t, "first status", b.calls(), "patch a")
		b.Set(ctx, p, start())
		expect(t, "same status", b.calls())
		b.Set(ctx, p, run())
		expect(t, "running", b.calls(), "patch a")
		now := b.now("a")
		if now.Status.Phase != v1.PodRunning || now.Status.StartTime.IsZero() || now.Status.ObservedGeneration != 1 {
			t.Errorf("the API has %+v", now.Status)
		}
		if got := conditions(now); !strings.Contains(got, "example.com/gate=True") || !strings.Contains(got, "Ready=True") || !strings.Contains(got, "PodScheduled=True") {
			t.Errorf("conditions %s: want the agent's and those of others", got)
		}
		var patches []string
		for _, r := range b.rec.OfKind("status.patch") {
			e, _ := r.Event.(*trace.StatusPatch)
			if r.Edge == trace.EdgeEnd {
				patches = append(patches, fmt.Sprintf("%s %s v%d: %s", r.Pod.Name, e.Op, e.Version, say.Changes(e.Changed, e.Clipped)))
			}
		}
		expect(t, "published", patches,
			"a patch v1: Ready False, app waiting (ContainerCreating), observed generation 0 → 1",
			"a patch v2: phase Pending → Running, Ready False → True, app waiting (ContainerCreating) → running, app ready false → true")
	})
}

func TestLatestWins(t *testing.T) {
	running(t, nil, func(b *bench) {
		b.api.takes = 10 * time.Millisecond
		p, ctx := b.pod("a"), b.t.Context()
		for i := range 20 {
			s := run()
			s.Message = fmt.Sprint(i)
			b.Set(ctx, p, s)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		if calls := b.calls(); len(calls) > 4 {
			t.Errorf("%d patches for 20 changes in 20 ms of patches of 10 ms, want few", len(calls))
		}
		if got := b.now("a").Status.Message; got != "19" {
			t.Errorf("the API has message %s, want that of the last", got)
		}
		if b.api.most != 1 {
			t.Errorf("%d writes of one pod at a time", b.api.most)
		}
	})
}

func TestSettle(t *testing.T) {
	running(t, func(c *Config) { c.Settle = 100 * time.Millisecond }, func(b *bench) {
		p, ctx := b.pod("a"), b.t.Context()
		b.Set(ctx, p, start())
		expect(t, "first", b.calls(), "patch a")
		s := start()
		s.PodIP = "10.0.0.1"
		b.Set(ctx, p, s)
		expect(t, "nobody waits for it", b.calls())
		b.Set(ctx, p, run())
		expect(t, "ready: both", b.calls(), "patch a")
		s = run()
		s.Message = "x"
		b.Set(ctx, p, s)
		expect(t, "again nobody waits", b.calls())
		time.Sleep(100 * time.Millisecond)
		expect(t, "nothing more came", b.calls(), "patch a")
	})
}

func TestManyAtOnce(t *testing.T) {
	running(t, nil, func(b *bench) {
		b.api.takes = time.Millisecond
		began := time.Now()
		for i := range 60 {
			b.Set(b.t.Context(), b.pod(fmt.Sprint("p", i)), run())
		}
		for len(b.rec.OfKind("status.patch")) < 120 {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); took > 15*time.Millisecond || b.api.most != defaultWriters {
			t.Errorf("60 statuses took %s with %d at a time", took, b.api.most)
		}
		if len(b.rec.OfKind("pod.wait")) != 2*(60-defaultWriters) {
			t.Errorf("%d begins and ends of waits, want those of %d pods", len(b.rec.OfKind("pod.wait")), 60-defaultWriters)
		}
	})
}

// Writes that hang delay other pods' writes for a bounded time, and begin at a bounded rate.
func TestHungWrites(t *testing.T) {
	running(t, nil, func(b *bench) {
		end := make(chan struct{})
		b.api.hang = func(what string) <-chan struct{} {
			if strings.HasPrefix(what, "patch hung") {
				return end
			}
			return nil
		}
		for i := range 20 {
			b.Set(b.t.Context(), b.pod(fmt.Sprint("hung", i)), run())
		}
		b.Set(b.t.Context(), b.pod("web"), run())
		time.Sleep(time.Second)
		b.api.mu.Lock()
		if b.api.most != defaultWriters {
			t.Errorf("%d writes at a time, want %d", b.api.most, defaultWriters)
		}
		b.api.mu.Unlock()
		time.Sleep(2*writePatience + time.Second)
		if st := b.now("web"); st.Status.Phase != v1.PodRunning {
			t.Errorf("the status of a pod whose write does not hang: %q", st.Status.Phase)
		}
		close(end)
		time.Sleep(time.Second)
	})
}

func TestReconcile(t *testing.T) {
	running(t, nil, func(b *bench) {
		ctx := b.t.Context()
		first := b.pod("a")
		b.Set(ctx, first, run())
		expect(t, "set", b.calls(), "patch a")
		b.Observe(ctx, "u-a", b.now("a"))
		expect(t, "own write observed", b.calls())
		b.Observe(ctx, "u-a", first)
		expect(t, "an old version observed", b.calls())
		b.Observe(ctx, "u-a", b.change("a", func(p *v1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: "example.com/other", Status: v1.ConditionFalse})
		}))
		expect(t, "another's condition", b.calls())
		b.Observe(ctx, "u-a", b.change("a", func(p *v1.Pod) { p.Status.Phase = v1.PodPending }))
		expect(t, "the phase overwritten", b.calls(), "patch a")
		if got := b.now("a").Status.Phase; got != v1.PodRunning {
			t.Errorf("the API has phase %s", got)
		}
		b.api.deaf = true
		b.Observe(ctx, "u-a", b.change("a", func(p *v1.Pod) { p.Status.Phase = v1.PodPending }))
		expect(t, "an API server that changes nothing", b.calls(), "patch a")
		b.Observe(ctx, "u-a", b.now("a"))
		expect(t, "asked once, not for ever", b.calls())
	})
}

func deleting(p *v1.Pod) {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(30))
	p.Generation++ // as the API server does
}

func TestDelete(t *testing.T) {
	running(t, func(c *Config) { c.Running = func(uid types.UID) bool { return uid == "u-busy" } }, func(b *bench) {
		ctx := b.t.Context()
		p := b.pod("a")
		b.Set(ctx, p, run())
		expect(t, "running", b.calls(), "patch a")
		p = b.change("a", deleting)
		b.Observe(ctx, p.UID, p)
		b.Set(ctx, p, ended(0))
		expect(t, "ended", b.calls(), "patch a")
		b.Gone(ctx, p)
		expect(t, "gone", b.calls(), "delete a grace=0")
		b.Observe(ctx, p.UID, p)
		expect(t, "the watch is behind", b.calls())
		b.Forget(p.UID)

		p = b.pod("job")
		b.Set(ctx, p, ended(1))
		b.Gone(ctx, p)
		expect(t, "over, and to stay", b.calls(), "patch job")
		b.Observe(ctx, p.UID, b.change("job", deleting))
		expect(t, "deleted later", b.calls(), "delete job grace=0")

		p = b.pod("early", deleting)
		b.Gone(ctx, p)
		expect(t, "deleted before it began", b.calls(), "patch early", "delete early grace=0")

		p = b.pod("busy")
		b.Set(ctx, p, run())
		b.calls()
		b.Set(ctx, p, ended(0))
		expect(t, "containers may run", b.calls(), "patch busy")
		if got := b.now("busy").Status; got.Phase != v1.PodRunning || got.ContainerStatuses[0].State.Terminated == nil {
			t.Errorf("the API has %+v, want the phase held back and the rest", got)
		}
		b.Gone(ctx, p)
		expect(t, "none may run", b.calls(), "patch busy")
		if got := b.now("busy").Status.Phase; got != v1.PodSucceeded {
			t.Errorf("the API has phase %s", got)
		}
	})
}

func TestGoneUnseen(t *testing.T) {
	running(t, nil, func(b *bench) {
		p := b.pod("a")
		b.Set(b.t.Context(), p, run())
		b.Gone(b.t.Context(), p)
		b.calls()
		s := b.now("a").Status
		if e := s.ContainerStatuses[0].State.Terminated; s.Phase != v1.PodFailed || e == nil || e.ExitCode != 137 {
			t.Errorf("the API has %+v, want Failed, exit code 137", s)
		}
		if c := condition(&s, v1.PodReady); c.Status != v1.ConditionFalse || c.Reason != "PodFailed" {
			t.Errorf("Ready is %+v", c)
		}
	})
}

func TestNeverBackward(t *testing.T) {
	running(t, nil, func(b *bench) {
		ctx := b.t.Context()
		p := b.pod("a", func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
		b.Set(ctx, p, ended(1))
		b.Set(ctx, p, run())
		b.calls()
		if s := b.now("a").Status; s.Phase != v1.PodFailed || s.ContainerStatuses[0].State.Terminated == nil {
			t.Errorf("the API has %+v", s)
		}
		if d := tracetest.Events[trace.Decision](b.rec); len(d) != 1 || d[0].By != trace.ByStatus || d[0].Verdict != trace.VerdictReject {
			t.Errorf("decisions %+v", d)
		}
		p = b.pod("b") // its container may run again; its phase is final
		b.Set(ctx, p, ended(1))
		b.Set(ctx, p, run())
		b.calls()
		if got := b.now("b").Status.Phase; got != v1.PodFailed {
			t.Errorf("phase %s after Failed", got)
		}
	})
}

func TestReplaced(t *testing.T) {
	running(t, nil, func(b *bench) {
		ctx := b.t.Context()
		p := b.pod("a")
		b.pod("a", func(p *v1.Pod) { p.UID = "other" })
		b.Set(ctx, p, run())
		expect(t, "another pod has the name", b.calls(), "patch a")
		if _, known := b.Status("u-a"); known || b.now("a").Status.Phase != v1.PodPending {
			t.Error("want it forgotten, and the other left alone")
		}
		b.Set(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "none", UID: "n"}}, run())
		time.Sleep(time.Hour)
		expect(t, "no such pod", b.calls(), "patch none")
	})
}

func TestUnreachable(t *testing.T) {
	running(t, nil, func(b *bench) {
		ctx := b.t.Context()
		for i := range 100 {
			b.Set(ctx, b.pod(fmt.Sprint("p", i)), start())
		}
		b.calls()
		b.api.behave(func() {
			b.api.takes, b.api.fail = time.Millisecond, func() error { return errors.New("connection refused") }
		})
		for i := range 100 {
			b.Set(ctx, b.now(fmt.Sprint("p", i)), run())
		}
		time.Sleep(10 * time.Minute)
		if n := len(b.calls()); n < 50 || n > 140 {
			t.Errorf("%d tries in 10 minutes, want one in 5 to 10 s", n)
		}
		under := 0 // a try that is under way succeeds
		b.api.behave(func() { b.api.fail, b.api.most, under = nil, 0, b.api.busy })
		time.Sleep(11 * time.Second)
		if n := len(b.calls()); n+under != 100 || b.api.most > defaultWriters {
			t.Errorf("%d writes, %d at a time, want each of the 100 pods once", n, b.api.most)
		}
		for i := range 100 {
			if got := b.now(fmt.Sprint("p", i)).Status.Phase; got != v1.PodRunning {
				t.Fatalf("p%d is %s", i, got)
			}
		}
		open := 0
		for _, r := range b.rec.OfKind("pod.wait") {
			switch r.Edge {
			case trace.EdgeBegin:
				open++
			case trace.EdgeEnd:
				open--
			case trace.EdgePoint:
			}
		}
		if open != 0 {
			t.Errorf("%d waits have not ended", open)
		}
	})
}

func TestRefused(t *testing.T) {
	running(t, nil, func(b *bench) {
		ctx := b.t.Context()
		p := b.pod("a")
		b.api.behave(func() {
			b.api.fail = func() error { return apierrors.NewForbidden(v1.Resource("pods"), "a", errors.New("no")) }
		})
		b.Set(ctx, p, run())
		time.Sleep(time.Hour)
		if n := len(b.calls()); n < 60 || n > 130 {
			t.Errorf("%d tries in an hour, want one in 30 to 60 s", n)
		}
		b.api.behave(func() { b.api.fail = nil })
		b.Set(ctx, b.pod("b"), run())
		expect(t, "another pod", b.calls(), "patch b")
	})
}

// mirrors are the mirror pods, by the static pod's UID.
type mirrors map[types.UID]*v1.Pod

func (m mirrors) Mirror(uid types.UID) *v1.Pod { return m[uid] }

func TestStatic(t *testing.T) {
	known := mirrors{}
	running(t, func(c *Config) { c.Mirrors = known }, func(b *bench) {
		ctx := b.t.Context()
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "a", UID: "hash", Annotations: map[string]string{podspec.AnnotationSource: podspec.SourceFile},
		}}
		b.Set(ctx, p, run())
		expect(t, "no mirror", b.calls())
		known["hash"] = b.pod("a")
		b.Observe(ctx, "hash", known["hash"])
		expect(t, "a mirror", b.calls(), "patch a")
		b.Observe(ctx, "hash", b.now("a"))
		expect(t, "own write observed", b.calls())
		b.pod("a", func(p *v1.Pod) { p.UID = "second" })
		b.Set(ctx, p, ended(0))
		expect(t, "the mirror was replaced", b.calls(), "patch a")
		known["hash"] = b.now("a")
		b.Observe(ctx, "hash", known["hash"])
		expect(t, "the next one", b.calls(), "patch a")
		if got := b.now("a").Status.Phase; got != v1.PodSucceeded {
			t.Errorf("the mirror has phase %s", got)
		}
		b.Observe(ctx, "hash", b.change("a", deleting))
		b.Gone(ctx, p)
		expect(t, "mirrors are not ours to delete", b.calls())
	})
}

func TestStandalone(t *testing.T) {
	rec := tracetest.New(t)
	m, err := New(Config{Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
	m.Set(context.Background(), p, run())
	if s, ok := m.Status("u"); !ok || s.Phase != v1.PodRunning || len(m.queue) != 0 {
		t.Errorf("status %+v %t, %d queued", s, ok, len(m.queue))
	}
}

// A status is written when the API has the latest one; what has no status is, too.
func TestWritten(t *testing.T) {
	running(t, nil, func(b *bench) {
		p, ctx := b.pod("a"), b.t.Context()
		if !b.Written(p.UID) {
			t.Error("a pod without a status waits for one")
		}
		b.api.takes = 10 * time.Millisecond
		b.Set(ctx, p, start())
		if b.Written(p.UID) {
			t.Error("written before the API has it")
		}
		time.Sleep(time.Second)
		if !b.Written(p.UID) {
			t.Error("not written")
		}
		b.Forget(p.UID)
		if !b.Written(p.UID) {
			t.Error("a pod that was forgotten waits for its status")
		}
	})
}
