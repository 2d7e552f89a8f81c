package watch

import (
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestLaterSetBack: milestones that wait for the logs are due also when the clock is set back, to before the watch began.
func TestLaterSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Found: &discover.Found{Process: &discover.Process{PID: 1}}, Bus: trace.NewBus(1), View: fstest.MapFS{}})
		w.began = time.Now()
		b := &beside{input: w.merger.Input()}
		w.beside = []*beside{b}
		milestone := func(at time.Time) {
			w.takeSeen(&message{by: b, rec: trace.Record{Time: at.UnixNano(), Event: &trace.Milestone{Name: trace.MilestoneReady}}})
		}
		time.Sleep(time.Minute)
		now := time.Now()
		milestone(now)
		if w.seenUntil(now.UnixNano()); len(b.later) != 1 {
			t.Fatal("it does not wait for the logs")
		}
		now = now.Add(-time.Hour) // the clock is set back
		milestone(now)
		if w.seenUntil(now.Add(time.Second).UnixNano()); len(b.later) != 1 {
			t.Errorf("%d wait, want the later one", len(b.later))
		}
		if w.seenUntil(now.Add(10 * time.Second).UnixNano()); len(b.later) != 0 {
			t.Errorf("%d wait", len(b.later))
		}
	})
}
