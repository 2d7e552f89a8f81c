package views

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

func TestActivity(t *testing.T) {
	m := model.New(model.Options{})
	recs := tuitest.Session()
	for i := range recs {
		m.Apply(&recs[i])
	}
	now := tuitest.Epoch.Add(tuitest.Length)
	var a activity
	a.refresh(Frame{Model: m, Now: now})
	want := map[string]string{"starts": "1/min", "CRI max": "4.10s", "loop max": "", "memory": ""}
	for _, s := range a.series {
		last, known := want[s.name]
		if !known || last != "" && s.last != last || len(s.figures) != buckets {
			t.Errorf("%s: %d figures, %q last", s.name, len(s.figures), s.last)
		}
		delete(want, s.name)
		if some := max(s.figures[buckets-1], s.figures[buckets-3], s.figures[buckets-6]); some < 0 {
			t.Errorf("%s has no figure of the last minute: %v", s.name, s.figures)
		}
	}
	for name := range want {
		t.Errorf("no series %q", name)
	}
	before := a.at
	a.refresh(Frame{Model: m, Now: now.Add(time.Second / 2)})
	if !a.at.Equal(before) {
		t.Error("computed twice in a second")
	}
}

func TestGaugeHasTheLimits(t *testing.T) {
	p := &model.Pressure{Pressure: trace.Pressure{Used: 50, Capacity: 100, Thresholds: []trace.Threshold{{Kind: trace.ThresholdImageGC, Percent: 80}}}}
	if got := style.New(false).Gauge(float64(p.Used), float64(p.Capacity), 10, limits(p)...); got != "▇▇▇▇▇░░░┃░" {
		t.Errorf("got %q", got)
	}
}
