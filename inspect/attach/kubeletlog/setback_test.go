package kubeletlog_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestSetBack follows a log whose clock is set back: pods that start after that are told to have started as soon as others, and one that
// started just before is, too.
func TestSetBack(t *testing.T) {
	base := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for _, by := range []time.Duration{0, 50 * time.Second, 2 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			f := kubeletlog.NewFold()
			f.Live(2 * time.Second)
			clock := &klog.Clock{Zone: time.UTC, Latest: base}
			toldAt := map[string]time.Duration{}
			until := func(at time.Time) {
				f.Until(at.UnixNano())
				for r, _, ok := f.Next(false); ok; r, _, ok = f.Next(false) {
					if m, is := r.Event.(*trace.Milestone); is && m.Name == trace.MilestoneStarted {
						toldAt[r.Pod.Name] = at.Sub(base)
					}
				}
			}
			line := func(at time.Time, s string) {
				e, ok := klog.ParseText("I"+at.Format("0102 15:04:05.000000")+" 1 x.go:1] "+s, clock)
				if !ok {
					t.Fatal(s)
				}
				f.Apply(&e)
			}
			start := func(at time.Time, name string) {
				line(at, `"SyncLoop ADD" source="api" pods=["shop/`+name+`"]`)
				line(at.Add(10*time.Millisecond), `"No sandbox for pod can be found. Need to start a new one" pod="shop/`+name+`"`)
				for _, id := range []string{"a", "b"} {
					line(at.Add(2*time.Second), `"SyncLoop (PLEG): event for pod" pod="shop/`+name+`" event={"ID":"uid-`+name+`","Type":"ContainerStarted","Data":"0000000000000000`+id+`"}`)
				}
			}
			start(base.Add(by), "before")
			until(base.Add(by + 4*time.Second))
			start(base.Add(10*time.Second), "after")
			for s := 13; s < 120; s++ {
				until(base.Add(time.Duration(s) * time.Second))
			}
			// 10 s after its last container, a record is held for 2 s, and entries may be 1 s late.
			if at := toldAt["after"]; at < 22*time.Second || at > 26*time.Second {
				t.Errorf("after: told at %v", at)
			}
			if at, ok := toldAt["before"]; !ok || at > by+16*time.Second {
				t.Errorf("before: told at %v, %v", at, ok)
			}
		})
	}
}
