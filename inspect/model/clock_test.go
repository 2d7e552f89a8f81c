package model_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The duration of a start does not include a forward step of the wall clock, also while it continues, and the runtime's
// spans are at the correct times.
func TestClockSetInAStart(t *testing.T) {
	const ms, hour = time.Millisecond, time.Hour
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "u-web"}
	tp := tape.New()
	tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	act := tp.Begin(10*ms, pod, 0, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	call := tp.Begin(10*ms, pod, act, &trace.CRICall{Method: "RunPodSandbox"})
	tp.Point(hour+200*ms, trace.Pod{}, 0, &trace.ClockStepped{Step: hour, Jump: hour})
	m := model.New(model.Options{})
	fold := func() {
		for _, r := range tp.Records() {
			m.Apply(&r)
		}
	}
	fold()
	w, err := m.Waterfall(pod, tape.Epoch.Add(hour+250*ms))
	if err != nil {
		t.Fatal(err)
	}
	if w.End != 250*ms {
		t.Errorf("the start goes on for %s, want 250ms", w.End)
	}
	tp.End(hour+400*ms, call, nil)
	tp.End(hour+400*ms, act, nil)
	for name, at := range map[string]time.Duration{"before": 50 * ms, "after": hour + 300*ms} {
		tp.Point(hour+401*ms, pod, call, &trace.RuntimeSpan{Name: name, Start: tape.Epoch.Add(at).UnixNano(), Dur: 80 * ms})
	}
	tp.Point(hour+410*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 410 * ms})
	tp.Point(hour+410*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 410 * ms})
	m = model.New(model.Options{})
	fold()
	if w, err = m.Waterfall(pod, time.Time{}); err != nil {
		t.Fatal(err)
	}
	got := map[string]time.Duration{"ready": w.Ready}
	for _, r := range w.Rows() {
		if r.Kind == waterfall.RowSpan {
			got[r.Label] = r.Start
		}
	}
	if diff := cmp.Diff(map[string]time.Duration{"ready": 410 * ms, "before": 50 * ms, "after": 300 * ms}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
