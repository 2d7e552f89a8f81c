package pods

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/eviction"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// An evicted pod fails with the message, and ends with the grace period that eviction gives it.
func TestEvict(t *testing.T) {
	d := newDesk(t, 0)
	pod := podOf("web", "u1")
	d.send(podsource.OpAdd, pod)
	d.workers.took()
	d.decided("admission default/web: admit, all checks passed")
	d.Evict(t.Context(), pod, eviction.Order{
		Message: "The node was low on resource: memory. ", Grace: 1, Disrupted: true,
		Decision: trace.Decision{By: trace.ByEviction, Subject: "default/web", Verdict: trace.VerdictEnd, Code: "Evicted", Reason: "it is first"},
	})
	d.asked("u1: evicted end grace=1, The node was low on resource: memory. ")
	d.cfg.Store.with("u1", func(e *entry) {
		if e.failed == nil || e.failed.Reason != "Evicted" || e.disruption != e.failed.Message {
			t.Errorf("failed %+v, disruption %q", e.failed, e.disruption)
		}
	})
	events := tracetest.Events[trace.NodeEvent](d.rec)
	if len(events) != 1 || events[0].Reason != "Evicted" || events[0].Type != trace.EventWarning {
		t.Errorf("events %+v", events)
	}
	for _, r := range d.rec.OfKind("node.event") {
		if r.Pod.UID != "u1" {
			t.Errorf("the event is about %+v", r.Pod)
		}
	}
}

// A pod that is evicted again ends sooner, and keeps its message: it gets one Event. This agent or an earlier one may have evicted it before.
func TestEvictAgain(t *testing.T) {
	for name, before := range map[string]v1.PodStatus{
		"by this agent": {}, "by an earlier agent": {Phase: v1.PodFailed, Reason: "Evicted", Message: "first. "},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, 0)
			pod := podOf("web", "u1")
			d.send(podsource.OpAdd, pod)
			d.workers.took()
			d.cfg.Store.with("u1", func(e *entry) { e.status = before })
			events := 0
			if before.Reason == "" {
				d.Evict(t.Context(), pod, eviction.Order{Message: "first. ", Grace: 20, Disrupted: true})
				d.asked("u1: evicted end grace=20, first. ")
				events++
			}
			d.Evict(t.Context(), pod, eviction.Order{Message: "second. ", Grace: 1})
			d.asked("u1: evicted end grace=1, second. ")
			d.cfg.Store.with("u1", func(e *entry) {
				if e.failed != nil && (e.failed.Message != "first. " || e.disruption != "first. ") {
					t.Errorf("failed %+v, disruption %q", e.failed, e.disruption)
				}
			})
			if got := tracetest.Events[trace.NodeEvent](d.rec); len(got) != events {
				t.Errorf("events %+v, want %d", got, events)
			}
		})
	}
}

// A pod that has terminated, or is gone, by the time that the eviction is decided stays as it ended.
func TestEvictTooLate(t *testing.T) {
	for _, state := range []worker.State{worker.Terminated, worker.Gone, worker.None} {
		t.Run(string(state), func(t *testing.T) {
			d := newDesk(t, 0)
			pod := podOf("web", "u1")
			d.send(podsource.OpAdd, pod)
			d.workers.took()
			d.workers.states["u1"] = state
			d.Evict(t.Context(), pod, eviction.Order{Message: "too late. ", Grace: 1})
			d.asked()
			d.cfg.Store.with("u1", func(e *entry) {
				if e.failed != nil {
					t.Errorf("it fails: %+v", e.failed)
				}
			})
			if events := tracetest.Events[trace.NodeEvent](d.rec); len(events) != 0 {
				t.Errorf("events %+v", events)
			}
		})
	}
}
