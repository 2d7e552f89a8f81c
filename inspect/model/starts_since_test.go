package model

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestStartWithoutSince: milestones from a log do not have the time since the pod was seen.
func TestStartWithoutSince(t *testing.T) {
	pod := trace.Pod{Namespace: "shop", Name: "web", UID: "1"}
	tp := tape.New()
	tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
	tp.Point(40*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneStarted})
	tp.Point(60*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneReady})
	tp.Point(90*ms, pod, 0, &trace.Milestone{Name: trace.MilestoneGone})
	got := modelOf(tp).Starts()
	if len(got) != 1 || got[0].ToStarted != 40*ms || got[0].ToReady != 60*ms {
		t.Errorf("starts are %+v, want one of 40 ms, ready after 60 ms", got)
	}
}
