package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// heldBack reports whether an attempt failed while a CPU limit stopped the container for much of the time. A limit that is used up now
// and then, or late in each period, starves nothing.
func heldBack(e *trace.ProbeAttempt) bool {
	t := e.Throttle
	return t != nil && (e.Result == trace.ProbeFailure || e.Result == trace.ProbeError) &&
		t.Throttled >= 2 && 2*t.Throttled >= t.Periods && 4*t.Stopped >= t.Interval
}

// heldHard reports whether a limit left nothing else to explain an attempt's failure: it was used up in nearly each period, and threads were
// stopped for most of the time.
func heldHard(t *trace.Throttle) bool {
	return 10*t.Throttled >= 9*t.Periods && 2*t.Stopped >= t.Interval
}

// heldBackFor is what a limit cost of the time until an attempt failed. Of one that ran into its timeout that is the attempt and the wait
// after it. One that was refused at once, as while the program still starts, says only that the program was stopped for so long before.
func (c *Case) heldBackFor(a *Span[*trace.ProbeAttempt]) []stretch {
	if a.Event.TimedOut {
		return c.starved(a)
	}
	if c.Waterfall == nil {
		return nil
	}
	t := a.Event.Throttle
	from := a.Stop.Add(-min(t.Interval, t.Stopped))
	var out []stretch
	for _, s := range c.Waterfall.Tail {
		out = append(out, stretch{c.Waterfall.Origin.Add(s.Start), c.Waterfall.Origin.Add(s.End)})
	}
	return clip(out, from, a.Stop)
}

// throttleText says what a limit did.
func throttleText(t *trace.Throttle) string {
	return fmt.Sprintf("in %s before its end the CPU limit was exhausted in %d of %d periods, and threads were stopped for %s",
		human.Duration(t.Interval.Round(time.Millisecond)), t.Throttled, t.Periods, human.Duration(t.Stopped))
}
