package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// pressure is how a rule reads the kernel's pressure figures.
type pressure struct {
	resource string
	// stall is how long tasks stalled in an interval; 0 where the figures do not amount to pressure.
	stall func(*trace.Usage) time.Duration
	// remedy and disproof are the finding's.
	remedy, disproof string
}

// longWindow is an interval that tells little of a start that is a small part of it.
const longWindow = 2 * time.Second

// find adds up, over the intervals that overlap the pod's work, the share of each in which tasks stalled. That is an estimate: the figures
// do not say whose tasks, nor when within the interval. It is never more than the stall, nor than the overlap.
func (p pressure) find(c *Case) []Finding {
	work := append(c.pathStretches(func(s waterfall.Segment) bool { return s.Kind != waterfall.SegmentWait }), c.endStretch()...)
	f := Finding{Confidence: Likely, Remedy: p.remedy, Disproof: p.disproof}
	var worst int
	var stalls, windows time.Duration
	for _, u := range nodePoints[*trace.Usage](c) {
		interval := u.Event.Interval
		end := u.Rec.At()
		overlap := covered(clip(work, end.Add(-interval), end))
		stall := min(p.stall(u.Event), interval)
		if interval <= 0 || overlap == 0 || stall == 0 || interval > longWindow && 10*overlap < interval {
			continue
		}
		f.Cost += min(time.Duration(float64(stall)*float64(overlap)/float64(interval)), stall, overlap)
		stalls, windows = stalls+stall, windows+interval
		worst = max(worst, percentOf(stall, interval))
		f.Evidence = append(f.Evidence, evidence(u.Rec, "%s", usageText(u.Event)))
	}
	if !c.worth(f.Cost) {
		return nil
	}
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("tasks of the node stalled for %s %d %% of the time in which the pod worked (%d %% at worst), about %s of it",
		p.resource, percentOf(stalls, windows), worst, human.Duration(f.Cost))
	return []Finding{f}
}

// usageText says what an interval's figures are.
func usageText(u *trace.Usage) string {
	var said []string
	if u.Busy > 0 && u.CPUs > 0 {
		said = append(said, fmt.Sprintf("the %d processors were busy %d %%", u.CPUs, busyShare(u)))
	}
	for _, s := range u.Stalls {
		said = append(said, fmt.Sprintf("tasks stalled %s for %s", human.Duration(s.Some), s.Resource))
	}
	if u.RunDelay > 0 {
		said = append(said, "the agent's threads waited "+human.Duration(u.RunDelay)+" for a processor")
	}
	said = append(said, "the agent itself used "+human.Duration(u.CPU))
	return "in " + human.Duration(u.Interval) + " " + strings.Join(said, ", ")
}
