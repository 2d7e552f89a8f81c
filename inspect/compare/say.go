package compare

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// say is one sentence on the whole, and on the part of the critical path that moved most in the same direction.
func (c *Comparison) say() string {
	switch {
	case !c.A.Started && !c.B.Started:
		return "Neither has started."
	case !c.A.Started:
		return "A has not started; B has."
	case !c.B.Started:
		return "B has not started; A has."
	}
	total := c.Totals[0] // both have started
	delta := *total.Delta
	if small(delta, *total.A) {
		return fmt.Sprintf("Both took as long: %s and %s.", human.Duration(*total.A), human.Duration(*total.B)) + c.missing()
	}
	than := "longer"
	if delta < 0 {
		than = "less"
	}
	s := fmt.Sprintf("B took %s %s than A", human.Duration(delta.Abs()), than)
	if total.changes() {
		s += " (" + total.change() + ")"
	}
	if l, moved := c.most(delta); moved != 0 {
		s += fmt.Sprintf("; most of it is %s: %s to %s", l.Label, or(l.A, "nothing"), or(l.B, "nothing"))
	}
	return s + "." + c.missing()
}

// small reports whether a difference is within what starts vary by anyway: 2 %, or a millisecond.
func small(delta, of time.Duration) bool {
	return delta.Abs() <= max(of/50, time.Millisecond)
}

// most returns the part of the path that moved most in the direction of delta.
func (c *Comparison) most(delta time.Duration) (best Line, moved time.Duration) {
	for _, l := range c.Path {
		d := orZero(l.B) - orZero(l.A)
		if (d > 0) == (delta > 0) && d.Abs() > moved {
			best, moved = l, d.Abs()
		}
	}
	return best, moved
}

func (c *Comparison) missing() string {
	if c.A.Incomplete || c.B.Incomplete {
		return " Records are missing."
	}
	return ""
}

func orZero(d *time.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return *d
}

func or(d *time.Duration, none string) string {
	if d == nil {
		return none
	}
	return human.Duration(*d)
}

// signed writes a difference with its sign, - where there is none to tell.
func signed(d *time.Duration) string {
	switch {
	case d == nil:
		return "-"
	case *d < 0:
		return "-" + human.Duration(-*d)
	case *d > 0:
		return "+" + human.Duration(*d)
	}
	return human.Duration(0)
}

const (
	// leastBase is the least change that is reported as a share: of microseconds, everything is a multiple.
	leastBase = time.Millisecond
	// mostTimes is the largest multiple that is told; beyond, how much more it is says more than how many times.
	mostTimes = 10
)

// changes reports whether there is a share to tell.
func (l Line) changes() bool { return l.Percent != nil && *l.A >= leastBase }

// change is how B is to A for people: a share up to twice A, then a multiple; - where there is nothing to tell.
func (l Line) change() string {
	switch {
	case !l.changes():
		return "-"
	case *l.Percent == 0:
		return "0 %"
	case *l.B < 2**l.A:
		return fmt.Sprintf("%+d %%", *l.Percent)
	case *l.B > mostTimes**l.A:
		return fmt.Sprintf(">×%d", mostTimes)
	}
	return fmt.Sprintf("×%.1f", float64(*l.B)/float64(*l.A))
}
