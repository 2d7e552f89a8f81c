package attach

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// strained is how much of the time tasks stalled for a resource while a pod started, in percent, at worst; and whether the node was ever short
// of memory then.
func (a *attached) strained(t *testing.T, pod string, resource trace.Resource) (share int, short bool) {
	t.Helper()
	var from, to time.Time
	for _, r := range a.told(t, func(r *trace.Record) bool { return r.Pod.Name == pod }) {
		if m, ok := r.Event.(*trace.Milestone); ok && m.Name == trace.MilestoneSeen {
			from = r.At()
		} else if ok && m.Name == trace.MilestoneStarted {
			to = r.At()
		}
	}
	for _, r := range a.told(t, func(r *trace.Record) bool { return r.At().After(from) }) {
		u, ok := r.Event.(*trace.Usage)
		if !ok || !r.At().Add(-u.Interval).Before(to) {
			continue
		}
		if u.Memory == nil {
			t.Fatalf("no figures of the node's memory: %+v", u)
		}
		short = short || u.Memory.Reclaims > 0 || u.Memory.Available < u.Memory.Total/5
		for _, s := range u.Stalls {
			if s.Resource == resource {
				share = max(share, int(100*s.Some/u.Interval))
			}
		}
	}
	return share, short
}
