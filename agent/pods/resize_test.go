package pods

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// room is a node with room for resizes.
type room admission.Inputs

func (r room) fits(pod *v1.Pod, others []*v1.Pod) resize.Verdict {
	r.Pod, r.Others = pod, others
	v := admission.Resize(admission.Inputs(r))
	return resize.Verdict{
		Fits: v.OK && len(v.Preempt) == 0, Reason: v.Reason, Message: v.Message, Preemption: resize.Preemption{Victims: v.Preempt, Short: v.Short},
	}
}

// resizing gives the desk resizes, as an agent that has just started, on a node with that many CPUs. dir has the checkpoints.
func (d *desk) resizing(dir, cpus string) *resize.Manager {
	d.t.Helper()
	all := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus), v1.ResourcePods: resource.MustParse("100")}
	m, err := resize.New(resize.Config{Dir: dir, Bus: d.rec.Bus(), Admit: room{Allocatable: all}.fits})
	if err != nil {
		d.t.Fatal(err)
	}
	d.cfg.Resizes, d.cfg.Node = m, func(in *admission.Inputs) { in.Allocatable = all }
	return m
}

// saved saves what pods are allocated.
func saved(t *testing.T, m *resize.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// requesting returns a pod of the API that requests that many CPUs.
func requesting(name, cpus string, edits ...func(*v1.Pod)) *v1.Pod {
	p := podOf(name, name, edits...)
	p.Annotations = map[string]string{podspec.AnnotationSource: podspec.SourceAPI}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus)}
	return p
}

// allocated returns how many CPUs a pod is allocated.
func (d *desk) allocated(pod *v1.Pod) string {
	return d.cfg.Resizes.Pod(pod).Spec.Containers[0].Resources.Requests.Cpu().String()
}

// A terminating pod still has its resources. A resize that waits gets them when the pod has terminated.
func TestResizeWaitsForTermination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := apiBench(t)
		m, err := resize.New(resize.Config{Dir: t.TempDir(), Admit: room{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}.fits})
		if err != nil {
			t.Fatal(err)
		}
		var freed atomic.Int64
		b.cfg.Resizes, b.syncer.cfg.Freed = m, func() { freed.Add(1) }
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(10 * time.Second); return nil }
		b.rt.clean = func(context.Context, *v1.Pod, bool) error { time.Sleep(10 * time.Second); return nil }
		b.allSources()
		big := requesting("a", "2")
		check := func(what, want string, times int64) {
			t.Helper()
			if got := m.Pod(big).Spec.Containers[0].Resources.Requests.Cpu().String(); got != want || freed.Load() != times {
				t.Errorf("%s: allocated %s after %d reports of free resources, want %s after %d", what, got, freed.Load(), want, times)
			}
		}
		b.send(podsource.OpAdd, requesting("a", "1"), requesting("b", "2"))
		b.send(podsource.OpUpdate, big)
		check("the node is full", "1", 0)
		b.send(podsource.OpDelete, requesting("b", "2"))
		b.send(podsource.OpReconcile, requesting("b", "2"))
		check("the other pod terminates", "1", 0)
		b.Freed(t.Context(), trace.ResizeForTerminated)
		check("nothing is free", "1", 0)
		pass(11 * time.Second)
		check("the other pod has terminated", "1", 1)
		b.Freed(t.Context(), trace.ResizeForTerminated)
		check("it gets the resources", "2", 1)
		pass(11 * time.Second)
		check("the CPUs of the other pod are free, too", "2", 2)
		b.stop()
	})
}

// A resize waits while the node is under pressure, and takes place when that ends.
func TestResizeWaitsForTheNode(t *testing.T) {
	d := newDesk(t, 0)
	node := room{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}, DiskPressure: true}
	m, err := resize.New(resize.Config{Dir: t.TempDir(), Bus: d.rec.Bus(), Admit: func(pod *v1.Pod, others []*v1.Pod) resize.Verdict { return node.fits(pod, others) }})
	if err != nil {
		t.Fatal(err)
	}
	d.cfg.Resizes = m
	d.allSources()
	a := requesting("a", "2")
	d.send(podsource.OpAdd, requesting("a", "1"))
	d.send(podsource.OpUpdate, a)
	if c := m.Conditions("a"); d.allocated(a) != "1" || !m.AnyWaiting() || len(c) != 1 || c[0].Reason != v1.PodReasonDeferred || c[0].Message != "The node had condition: [DiskPressure]. " {
		t.Errorf("under pressure: allocated %s, conditions %+v", d.allocated(a), c)
	}
	node.DiskPressure = false
	d.Freed(t.Context(), trace.ResizeForNode)
	if d.allocated(a) != "2" || m.AnyWaiting() {
		t.Errorf("afterwards: allocated %s", d.allocated(a))
	}
	d.asked("a: ADD", "a: UPDATE", "a: resize", "a: resize")
	i := slices.IndexFunc(tracetest.Events[trace.Resize](d.rec), func(e trace.Resize) bool {
		return e.Op == trace.ResizeWaited && e.End == trace.ResizeAccepted && e.Trigger == trace.ResizeForNode
	})
	if i < 0 {
		t.Errorf("%+v", tracetest.Events[trace.Resize](d.rec))
	}
}

// A critical pod gets the resources for its resize from pods that are preempted, once, when these have terminated, and no other pod gets them. It
// runs meanwhile.
func TestResizePreempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		all := v1.ResourceList{v1.ResourceCPU: resource.MustParse("3"), v1.ResourcePods: resource.MustParse("100")}
		m, err := resize.New(resize.Config{Dir: t.TempDir(), Admit: room{Allocatable: all}.fits})
		if err != nil {
			t.Fatal(err)
		}
		b.cfg.Resizes, b.cfg.Node = m, func(in *admission.Inputs) { in.Allocatable = all }
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(10 * time.Second); return nil }
		b.allSources()
		critical := func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_001_000)) }
		check := func(what, want string, preempted uint64) {
			t.Helper()
			got := m.Pod(requesting("dns", "2", critical)).Spec.Containers[0].Resources.Requests.Cpu().String()
			if n := b.cfg.Store.Counts(nil).Preempted[v1.ResourceCPU]; got != want || n != preempted {
				t.Errorf("%s: allocated %s, %d pods preempted, want %s and %d", what, got, n, want, preempted)
			}
		}
		b.send(podsource.OpAdd, requesting("dns", "1", critical), requesting("web", "1"), requesting("small", "800m"))
		pass(time.Second)
		b.send(podsource.OpUpdate, requesting("dns", "2", critical))
		check("at the update", "1", 1)
		b.send(podsource.OpAdd, requesting("late", "500m"))
		b.Freed(t.Context(), trace.ResizeForTerminated)
		b.rt.took()
		b.workers.Wake("dns", worker.Cause{Text: "test"})
		pass(5 * time.Second)
		check("it still terminates", "1", 1)
		if calls := b.rt.took(); !slices.Contains(calls, "sync dns") {
			t.Errorf("it does not run meanwhile: %q", calls)
		}
		if c := m.Conditions("dns"); len(c) != 1 || c[0].Reason != v1.PodReasonDeferred {
			t.Errorf("conditions %+v", c)
		}
		pass(6 * time.Second)
		b.Freed(t.Context(), trace.ResizeForTerminated)
		check("it has terminated", "2", 1)
		lines := said.lines()
		for line, want := range map[string]bool{"web: Failed Preempting": false, "small: Failed Preempting": true, "late: Failed OutOfcpu": true} {
			if slices.Contains(lines, line) != want {
				t.Errorf("%s: %t; said %q", line, !want, lines)
			}
		}
		b.stop()
	})
}

// While the preempted pods terminate, every change of a pod has the resize tried again: nobody else is preempted, unless the pod requests more.
func TestResizePreemptsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := apiBench(t)
		m, err := resize.New(resize.Config{Dir: t.TempDir(), Admit: room{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("9"), v1.ResourcePods: resource.MustParse("100")}}.fits})
		if err != nil {
			t.Fatal(err)
		}
		b.cfg.Resizes = m
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(10 * time.Second); return nil }
		b.allSources()
		critical := func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_001_000)) }
		check := func(what, want string, preempted uint64) {
			t.Helper()
			got := m.Pod(requesting("dns", "3", critical)).Spec.Containers[0].Resources.Requests.Cpu().String()
			if n := b.cfg.Store.Counts(nil).Preempted[v1.ResourceCPU]; got != want || n != preempted {
				t.Errorf("%s: allocated %s, %d pods preempted, want %s and %d", what, got, n, want, preempted)
			}
		}
		b.send(podsource.OpAdd, requesting("dns", "1", critical))
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			b.send(podsource.OpAdd, requesting(name, "1"))
		}
		pass(time.Second)
		b.send(podsource.OpUpdate, requesting("dns", "2", critical))
		check("at the update", "1", 1)
		for range 20 {
			b.Freed(t.Context(), trace.ResizeForResized)
		}
		check("it still terminates", "1", 1)
		b.send(podsource.OpUpdate, requesting("dns", "3", critical))
		for range 20 {
			b.Freed(t.Context(), trace.ResizeForResized)
		}
		check("it requests more", "1", 2)
		pass(11 * time.Second)
		b.Freed(t.Context(), trace.ResizeForTerminated)
		check("both have terminated", "3", 2)
		b.stop()
	})
}

// What a pod gives back counts as its own until it has given it back: its limits may not be changed at once.
func TestResizeWaitsForSmallerPods(t *testing.T) {
	d := newDesk(t, 0)
	m := d.resizing(t.TempDir(), "4")
	d.allSources()
	small, big := requesting("a", "1"), requesting("b", "2")
	d.send(podsource.OpAdd, requesting("a", "3"), requesting("b", "1"))
	d.send(podsource.OpUpdate, small)
	d.send(podsource.OpUpdate, big)
	check := func(what, want string) {
		t.Helper()
		if a, b := d.allocated(small), d.allocated(big); a != "1" || b != want {
			t.Errorf("%s: allocated %s and %s, want 1 and %s", what, a, b, want)
		}
	}
	check("the other pod has 3", "1")
	d.send(podsource.OpAdd, requesting("new", "1"))
	d.decided("admission default/a: admit, all checks passed", "admission default/b: admit, all checks passed",
		"resize default/a: resize, it fits on the node",
		"resize default/b: Deferred, Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
		"admission default/new: reject, OutOfcpu: Node didn't have enough resource: cpu, requested: 1000, used: 4000, capacity: 4000")
	m.Failed(t.Context(), small, "cannot decrease memory limits")
	d.Freed(t.Context(), trace.ResizeForResized)
	check("its resize failed", "1")
	if err := m.Actuate(small, small.Spec.Containers[0].Name); err != nil {
		t.Fatal(err)
	}
	m.Done(t.Context(), small)
	d.Freed(t.Context(), trace.ResizeForResized)
	check("it has 1", "2")
}

// A pod of which nothing runs any more is admitted with what it was allocated, although the node has not enough for its resize. What pods were
// allocated that are gone is forgotten.
func TestAdmittedAsAllocated(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, 0)
	m := d.resizing(dir, "3")
	d.send(podsource.OpAdd, requesting("a", "1"), requesting("gone", "2"))
	saved(t, m)

	d = newDesk(t, 0)
	d.resizing(dir, "3")
	a := requesting("a", "4")
	d.send(podsource.OpAdd, a)
	d.asked("a: ADD")
	if got := d.allocated(a); got != "1" {
		t.Errorf("it is allocated %s, want 1", got)
	}
	gone := requesting("gone", "1")
	if got := d.allocated(gone); got != "2" {
		t.Errorf("the other pod was allocated %s, want 2", got)
	}
	d.allSources()
	d.Housekeep(t.Context())
	if got := d.allocated(gone); got != "1" {
		t.Errorf("a pod that is gone is still allocated %s", got)
	}
	if got := d.allocated(a); got != "1" {
		t.Errorf("after housekeeping it is allocated %s, want 1", got)
	}
}

// After a restart of the agent, a resize is decided when all pods of all sources are known: others have resources that it must not get. Pods get
// what is free by their order, not in that of their source.
func TestResizesAreDecidedWhenAllPodsAreKnown(t *testing.T) {
	for _, c := range []struct {
		name, cpus string
		update     bool // the pods are resized when the agent has started
		a, b       string
	}{
		{"the node is full", "3", false, "1", "1"},
		{"the node is full, and they are updated", "3", true, "1", "1"},
		{"room for one", "4", false, "1", "2"},
		{"room for one, and they are updated", "4", true, "1", "2"},
		{"room for both", "5", false, "2", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			d := newDesk(t, 0)
			m := d.resizing(dir, c.cpus)
			small := []*v1.Pod{requesting("a", "1"), requesting("b", "1")}
			d.send(podsource.OpAdd, small...)
			saved(t, m)

			d = newDesk(t, 0)
			d.resizing(dir, c.cpus)
			a, b := requesting("a", "2"), requesting("b", "2", func(p *v1.Pod) { p.Spec.Priority = new(int32(5)) })
			if c.update {
				d.send(podsource.OpAdd, small...)
				d.send(podsource.OpUpdate, a, b)
			} else {
				d.send(podsource.OpAdd, a, b)
			}
			if d.allocated(a) != "1" || d.allocated(b) != "1" {
				t.Errorf("before all pods are known, they are allocated %s and %s", d.allocated(a), d.allocated(b))
			}
			d.workers.took()
			d.Config(t.Context(), podsource.Update{Op: podsource.OpAdd, Pods: []*v1.Pod{requesting("static", "1")}, AllSources: true})
			if d.allocated(a) != c.a || d.allocated(b) != c.b {
				t.Errorf("they are allocated %s and %s, want %s and %s", d.allocated(a), d.allocated(b), c.a, c.b)
			}
			d.asked("static: ADD", "b: resize", "a: resize")
		})
	}
}
