package cause

import (
	"fmt"
	"math"
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
	// notPulls leaves pulls out: they mostly wait for something else.
	notPulls bool
	// remedy and disproof are the finding's.
	remedy, disproof string
}

// longWindow is an interval that tells little of a start that is a small part of it.
const longWindow = 2 * time.Second

// find looks at the pod's work to its start and at its end, each by itself. Where the pod itself only waited, pressure held up nothing;
// and a pull mostly waits for the network, so a want of processors is not said to have held it up.
func (p pressure) find(c *Case) (out []Finding) {
	if _, rejected := c.Rejected(); rejected { // there is no start that it could delay
		return nil
	}
	waits := c.waits()
	for _, part := range c.parts(c.pathStretches(func(s waterfall.Segment) bool {
		return s.Kind != waterfall.SegmentWait && (!p.notPulls || !s.Pull)
	})) {
		if part.end == 0 {
			out = append(out, p.findIn(c, &part, nil)...)
			continue
		}
		out = append(out, p.findIn(c, &part, waits)...)
	}
	return out
}

// findIn adds up, over the intervals that overlap the pod's work, the share of each in which tasks stalled. That is an estimate: the figures
// do not say whose tasks, nor when within the interval. It is never more than the stall, nor than the overlap.
func (p pressure) findIn(c *Case, in *part, waits []stretch) []Finding {
	f := Finding{Confidence: Likely, Remedy: p.remedy, RuledOutBy: p.disproof, End: in.end}
	var worst int
	var stalls, windows time.Duration
	first, last := bounds(in.at)
	for _, u := range nodePoints[*trace.Usage](c) {
		interval := u.Event.Interval
		end := u.Rec.At()
		stall := min(p.stall(u.Event), interval)
		if interval <= 0 || stall <= 0 || !end.After(first) || !end.Add(-interval).Before(last) {
			continue
		}
		at := clip(in.at, end.Add(-interval), end)
		if len(at) == 0 {
			continue
		}
		overlap := coveredBut(at, clip(waits, end.Add(-interval), end))
		if overlap == 0 || interval > longWindow && 10*overlap < interval {
			continue
		}
		f.Cost += min(time.Duration(float64(stall)*float64(overlap)/float64(interval)), stall, overlap)
		stalls, windows = stalls+stall, windows+interval
		worst = max(worst, percentOf(stall, interval))
		f.Evidence = append(f.Evidence, usageEvidence(&u))
	}
	if f.Cost = min(f.Cost, c.memo.explained.left(in)); !in.worth(f.Cost) {
		return nil
	}
	f.Evidence = few(f.Evidence)
	doing, of := "in which the pod worked", "it"
	if in.end > 0 {
		doing, of = "in which the pod terminated", fmt.Sprintf("its %s (%d %%)", human.Duration(in.end), percentOf(f.Cost, in.end))
	}
	f.Sentence = fmt.Sprintf("tasks of the node stalled for %s %d %% of the time %s (%d %% at worst), about %s of %s",
		p.resource, percentOf(stalls, windows), doing, worst, human.Duration(f.Cost), of)
	return []Finding{f}
}

// bounds are when stretches begin and end.
func bounds(all []stretch) (first, last time.Time) {
	for i, s := range all {
		if i == 0 || s.from.Before(first) {
			first = s.from
		}
		if i == 0 || s.to.After(last) {
			last = s.to
		}
	}
	return first, last
}

// waits are the times in which the pod waited for something.
func (c *Case) waits() (out []stretch) {
	for _, w := range ownSpans[*trace.Wait](c) {
		out = append(out, stretch{w.Start, w.Stop})
	}
	return out
}

// usageEvidence is an interval's figures as evidence. The kernel's observer reads those of a kubelet that is not ours.
func usageEvidence(p *Point[*trace.Usage]) Evidence {
	who := "the agent"
	if p.Rec.Observer == trace.ObserverKernel {
		who = "the kubelet"
	}
	return evidence(p.Rec, "%s", usageText(p.Event, who))
}

// usageText says what an interval's figures are; who is the process that some are of.
func usageText(u *trace.Usage, who string) string {
	var said []string
	if u.Busy > 0 && u.CPUs > 0 {
		said = append(said, fmt.Sprintf("the %d processors were busy %d %%", u.CPUs, busyShare(u)))
	}
	for _, s := range u.Stalls {
		said = append(said, fmt.Sprintf("tasks stalled %s for %s", human.Duration(s.Some), s.Resource))
	}
	if u.RunDelay > 0 {
		said = append(said, who+"'s threads waited "+human.Duration(u.RunDelay)+" for a processor")
	}
	if m := u.Memory; m != nil {
		said = append(said, fmt.Sprintf("%s of the node's memory were available, of %s", human.Bytes(m.Available), human.Bytes(m.Total)))
		if m.Reclaims > 0 {
			said = append(said, "tasks reclaimed memory of the node "+times(int(min(m.Reclaims, math.MaxInt32))))
		}
	}
	said = append(said, who+" itself used "+human.Duration(u.CPU))
	return "in " + human.Duration(u.Interval) + " " + strings.Join(said, ", ")
}

// starvedNode reports whether tasks waited for a processor most of the time in which the pod started, where the processors had no room.
func (c *Case) starvedNode() bool {
	var stalls, windows time.Duration
	first, last := bounds(c.stretchesOf(c.path()))
	for _, u := range nodePoints[*trace.Usage](c) {
		if end := u.Rec.At(); end.After(first) && end.Add(-u.Event.Interval).Before(last) {
			stalls, windows = stalls+min(cpuStall(u.Event), u.Event.Interval), windows+u.Event.Interval
		}
	}
	return windows > 0 && 2*stalls >= windows
}
