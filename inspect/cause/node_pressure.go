package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// recently is the time before now whose figures say how a node is. Tasks that stalled for stalledLeast and for stalledShare of that time,
// in percent, make a node slow.
const (
	recently     = time.Minute
	stalledLeast = 5 * time.Second
	stalledShare = 20
)

// ofNode is the pressure in the last minute: how long tasks stalled in the intervals that amount to pressure.
func (p pressure) ofNode(c *Case) *Finding {
	f := &Finding{Confidence: Certain, Remedy: p.remedy, RuledOutBy: "cat /proc/pressure/cpu, memory and io show avg60 near 0 for that time."}
	var stalls, windows time.Duration
	for _, u := range nodePoints[*trace.Usage](c) {
		if c.Now.Sub(u.Rec.At()) > recently || u.Event.Interval <= 0 {
			continue
		}
		windows += u.Event.Interval
		stall := min(p.stall(u.Event), u.Event.Interval)
		if f.Current = stall > 0; !f.Current {
			continue
		}
		stalls += stall
		f.Evidence = append(f.Evidence, usageEvidence(&u))
	}
	if stalls < stalledLeast || percentOf(stalls, windows) < stalledShare {
		return nil
	}
	f.Cost, f.Evidence = stalls, few(f.Evidence)
	f.Sentence = fmt.Sprintf("tasks of the node stalled for %s %s of the last %s (%d %%)", p.resource, human.Duration(stalls), human.Duration(windows), percentOf(stalls, windows))
	return f
}
