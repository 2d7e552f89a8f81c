package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeStatuses records the calls.
type fakeStatuses struct {
	mu   sync.Mutex
	said []string
}

func (f *fakeStatuses) note(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.said) == 0 || f.said[len(f.said)-1] != line {
		f.said = append(f.said, line)
	}
}

func (f *fakeStatuses) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.said)
}

func (f *fakeStatuses) Set(_ context.Context, pod *v1.Pod, st v1.PodStatus) {
	f.note(fmt.Sprintf("%s: %s %s", pod.Name, st.Phase, st.Reason))
}

func (f *fakeStatuses) Gone(_ context.Context, pod *v1.Pod) {
	f.note(fmt.Sprintf("%s: gone, deleted=%t", pod.Name, pod.DeletionTimestamp != nil))
}

func (f *fakeStatuses) Observe(context.Context, types.UID, *v1.Pod) {}
func (f *fakeStatuses) Forget(types.UID)                            {}

func fromAPI(p *v1.Pod) { p.Annotations[podspec.AnnotationSource] = "api" }

func apiBench(t *testing.T) (*bench, *fakeStatuses) {
	b, said := newBench(t), &fakeStatuses{}
	b.cfg.Statuses, b.syncer.cfg.Statuses = said, said
	b.syncer.cfg.Status = func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
		st := v1.PodStatus{Phase: v1.PodRunning, StartTime: in.Previous.StartTime}
		if st.StartTime == nil {
			st.StartTime = new(metav1.Now())
		}
		if in.Failed != nil {
			st.Phase, st.Reason = v1.PodFailed, in.Failed.Reason
		}
		return st, trace.PodStatus{Phase: trace.PodPhase(string(st.Phase)), Reason: st.Reason}
	}
	b.syncer.cfg.Victim = func(uid types.UID) bool { return b.workers.State(uid) == worker.Terminating }
	return b, said
}

// The deadline of a static pod, whose start time no API server tells, counts from its start under an earlier agent.
func TestDeadlineOfAdopted(t *testing.T) {
	for name, tc := range map[string]struct {
		since time.Duration
		want  []string
	}{
		"over":     {since: time.Minute, want: []string{"web: Running ", "web: Failed DeadlineExceeded", "web: gone, deleted=false"}},
		"not over": {since: 28 * time.Second, want: []string{"web: Running "}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, said := apiBench(t)
				inner, began := b.syncer.cfg.Status, metav1.NewTime(time.Now().Add(-tc.since))
				b.syncer.cfg.Status = func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
					st, event := inner(in)
					st.StartTime = &began
					return st, event
				}
				b.send(podsource.OpAdd, podOf("web", "u1", func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(30)) }))
				pass(time.Second)
				b.expect("at first", tc.want, said.lines())
				if name == "over" && slices.Contains(b.rt.took(), "sync web") {
					t.Error("it was synced")
				}
				pass(2 * time.Second)
				b.expect("later", []string{"web: Running ", "web: Failed DeadlineExceeded", "web: gone, deleted=false"}, said.lines())
				b.stop()
			})
		})
	}
}

// A deleted pod's object is deleted when nothing of the pod is left, and not before.
func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		b.rt.clean = func(context.Context, *v1.Pod, bool) error { said.note("cleaned"); return nil }
		pod := podOf("web", "u1", fromAPI)
		b.send(podsource.OpAdd, pod)
		pass(time.Second)
		going := podOf("web", "u1", fromAPI, func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })
		b.send(podsource.OpDelete, going)
		pass(time.Second)
		b.expect("said", []string{"web: Running ", "cleaned", "web: Running ", "web: gone, deleted=true"}, said.lines())
		b.send(podsource.OpRemove, going)
		pass(time.Second)
		b.stop()
	})
}

// A pod that was deleted or finished before this agent started is only cleaned up.
func TestNotStartedAnew(t *testing.T) {
	for name, edit := range map[string]func(*v1.Pod){
		"deleted": func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) },
		"over":    func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, said := apiBench(t)
				b.send(podsource.OpAdd, podOf("web", "u1", fromAPI, edit))
				pass(time.Second)
				calls := b.rt.took()
				if slices.Contains(calls, "sync web") || !slices.Contains(calls, "clean web remove=false") {
					t.Errorf("did %q", calls)
				}
				if lines := said.lines(); lines[len(lines)-1] != fmt.Sprintf("web: gone, deleted=%t", name == "deleted") {
					t.Errorf("said %q", said.lines())
				}
				b.stop()
			})
		})
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		b.send(podsource.OpAdd, podOf("web", "u1", fromAPI, func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(30)) }))
		pass(29 * time.Second)
		b.expect("before", []string{"web: Running "}, said.lines())
		pass(2 * time.Second)
		b.expect("after", []string{"web: Running ", "web: Failed DeadlineExceeded", "web: gone, deleted=false"}, said.lines())
		if d := tracetest.Events[trace.Decision](b.rec); len(d) != 2 || d[1].By != trace.ByDeadline || d[1].Verdict != trace.VerdictEnd {
			t.Errorf("decisions %+v", d)
		}
		b.stop()
	})
}

// A pod that somebody else has made Failed or Succeeded terminates. It does not keep what counts as free.
func TestPhaseOfOthers(t *testing.T) {
	for _, op := range []podsource.Op{podsource.OpReconcile, podsource.OpUpdate} {
		synctest.Test(t, func(t *testing.T) {
			b, _ := apiBench(t)
			b.send(podsource.OpAdd, podOf("web", "u1", fromAPI), podOf("log", "u2", fromAPI))
			pass(time.Second)
			b.rt.took()
			b.send(op, podOf("web", "u1", fromAPI, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }))
			b.send(op, podOf("log", "u2", fromAPI, func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
			pass(time.Second)
			calls := b.rt.took()
			if !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "kill web ") }) || !slices.Contains(calls, "clean web remove=false") ||
				slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "kill log ") }) {
				t.Errorf("%s: did %q", op, calls)
			}
			b.stop()
		})
	}
}

// The last phase of a pod does not wait for the cleanup: the volumes of a driver that does not respond may stay for long.
func TestLastPhaseBeforeCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		status := b.syncer.cfg.Status
		b.syncer.cfg.Status = func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
			st, rec := status(in)
			if b.workers.State(in.Pod.UID) == worker.Terminated {
				st.Phase = v1.PodSucceeded
			}
			return st, rec
		}
		b.rt.clean = func(context.Context, *v1.Pod, bool) error {
			said.note("cleaning")
			time.Sleep(time.Minute)
			return nil
		}
		b.send(podsource.OpAdd, podOf("web", "u1", fromAPI))
		pass(time.Second)
		b.send(podsource.OpDelete, podOf("web", "u1", fromAPI, func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }))
		pass(time.Second)
		b.expect("said", []string{"web: Running ", "web: Succeeded ", "cleaning"}, said.lines())
		pass(time.Minute)
		b.expect("at the end", []string{"web: Running ", "web: Succeeded ", "cleaning", "web: Succeeded ", "web: gone, deleted=true"}, said.lines())
		b.stop()
	})
}

// A pod with a deadline is tried again after an error, as others are, and not only at its deadline.
func TestDeadlineAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) {
			return podruntime.Outcome{}, errors.New(`configmaps "settings" not found`)
		}
		b.send(podsource.OpAdd, podOf("web", "u1", fromAPI, func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(25)) }))
		pass(20 * time.Second)
		b.expect("before", []string{"sync web", "sync web", "sync web", "sync web", "sync web"}, b.rt.took()) // after 0, 1, 3, 7 and 15 s
		pass(4 * time.Second)
		b.expect("shortly before", nil, b.rt.took())
		pass(2 * time.Second) // the deadline comes before the next attempt
		b.expect("after", []string{"web: Running ", "web: Failed DeadlineExceeded", "web: gone, deleted=false"}, said.lines())
		b.stop()
	})
}

// While an evicted pod terminates, no other starts, unless it is critical; pods that run go on.
func TestNoStartWhileEvicting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var evicting atomic.Bool
		b, _ := apiBench(t)
		b.syncer.cfg.Evicting = evicting.Load
		b.send(podsource.OpAdd, podOf("web", "u1", fromAPI))
		pass(time.Second)
		evicting.Store(true)
		b.rt.took()
		b.send(podsource.OpAdd, podOf("new", "u2", fromAPI), podOf("dns", "u3", fromAPI, func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_001_000)) }))
		b.Sync(t.Context(), "u1")
		pass(5 * time.Second)
		if calls := b.rt.took(); slices.Contains(calls, "sync new") || !slices.Contains(calls, "sync dns") || !slices.Contains(calls, "sync web") {
			t.Errorf("did %q", calls)
		}
		if !slices.ContainsFunc(tracetest.Events[trace.Wait](b.rec), func(w trace.Wait) bool { return w.Target.Kind == trace.TargetEvicted }) {
			t.Error("nothing says what the pod waits for")
		}
		evicting.Store(false)
		pass(10 * time.Second)
		if calls := b.rt.took(); !slices.Contains(calls, "sync new") {
			t.Errorf("it has not started: %q", calls)
		}
		b.stop()
	})
}

// A critical pod starts when the preempted pods have terminated.
func TestPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		b.cfg.Node = func(in *admission.Inputs) { in.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")} }
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(10 * time.Second); return nil }
		status := b.syncer.cfg.Status
		var failed podstatus.Reason
		var disruption string
		b.syncer.cfg.Status = func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
			if in.Failed != nil {
				failed, disruption = *in.Failed, in.Disruption
			}
			return status(in)
		}
		takes := func(p *v1.Pod) {
			fromAPI(p)
			p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("800m")}
		}
		b.send(podsource.OpAdd, podOf("web", "u1", takes))
		pass(time.Second)
		b.rt.took()
		b.send(podsource.OpAdd, podOf("dns", "u2", takes, func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_001_000)) }))
		pass(5 * time.Second)
		if calls := b.rt.took(); slices.Contains(calls, "sync dns") {
			t.Errorf("it started too early: %q", calls)
		}
		pass(10 * time.Second)
		if calls := b.rt.took(); !slices.Contains(calls, "sync dns") {
			t.Errorf("it has not started: %q", calls)
		}
		if !slices.Contains(said.lines(), "web: Failed Preempting") {
			t.Errorf("said %q", said.lines())
		}
		if failed.Message != "Preempted in order to admit critical pod" || disruption != "Pod was preempted by Kubelet to accommodate a critical pod." {
			t.Errorf("message %q, of its condition %q", failed.Message, disruption)
		}
		b.stop()
	})
}

// A pod that terminates because the node shuts down has failed, with upstream's words; one that had succeeded has not.
func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, said := apiBench(t)
		status := b.syncer.cfg.Status
		var disruption string
		b.syncer.cfg.Status = func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
			st, rec := status(in)
			if in.Failed != nil {
				st.Message, disruption = in.Failed.Message, in.Disruption
			}
			if in.Pod.Name == "job" && in.Failed == nil {
				st.Phase = v1.PodSucceeded
			}
			return st, rec
		}
		decisions := 0
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(time.Second); return nil }
		web, job := podOf("web", "u1", fromAPI), podOf("job", "u2", fromAPI)
		b.send(podsource.OpAdd, web, job)
		pass(time.Second)
		b.rt.took()
		b.ShutDown(t.Context(), web, 7)
		b.ShutDown(t.Context(), job, 3)
		pass(5 * time.Second)
		var got v1.PodStatus
		b.cfg.Store.with("u1", func(e *entry) { got = e.status })
		if got.Phase != v1.PodFailed || got.Reason != "Terminated" || got.Message != "Pod was terminated in response to imminent node shutdown." || disruption != got.Message {
			t.Errorf("%+v, disruption: %s", got, disruption)
		}
		lines := said.lines()
		if !slices.Contains(lines, "web: Failed Terminated") || slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "job: Failed") }) {
			t.Errorf("said %q", lines)
		}
		for _, d := range tracetest.Events[trace.Decision](b.rec) {
			if d.By == trace.ByShutdown {
				decisions++
				if d.Verdict != trace.VerdictEnd || d.Code != "Terminated" {
					t.Errorf("%+v", d)
				}
			}
		}
		if calls := b.rt.took(); decisions != 2 || !slices.ContainsFunc(calls, func(s string) bool { return strings.HasPrefix(s, "kill web grace=7") }) {
			t.Errorf("%d decisions, did %q", decisions, calls)
		}
		b.stop()
	})
}
