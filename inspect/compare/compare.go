package compare

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Comparison is the difference between two starts. Durations are in nanoseconds.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Totals are seen to started, started to ready, the runtime's floor.
	Totals []Line `json:"totals"`
	// Path is the critical path by what covers it, waits by kind, unexplained last. It adds up to seen to started.
	Path []Line `json:"path"`
	// Phases are the actions and probes themselves, on the critical path or beside it.
	Phases []Line `json:"phases"`
	// Sentence says what changed most.
	Sentence string `json:"sentence"`
}

// Side is one of the two starts.
type Side struct {
	Pod     trace.Pod `json:"pod"`
	Origin  time.Time `json:"origin"`
	Started bool      `json:"started"`
	// Incomplete says that records of this start are missing.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Line is one phase on both sides. A and B are nil if the side does not have the phase. Delta is nil if one of them is; on the
// critical path, a missing phase counts as 0 instead. Percent is Delta's share of A, nil also if A is 0. Text and markdown show it
// only if A is a millisecond or more, and from twice A on as a multiple.
type Line struct {
	Label   string         `json:"label"`
	A       *time.Duration `json:"a_ns,omitempty"`
	B       *time.Duration `json:"b_ns,omitempty"`
	Delta   *time.Duration `json:"delta_ns,omitempty"`
	Percent *int           `json:"percent,omitempty"`
}

// Diff compares b with a.
func Diff(a, b *waterfall.Waterfall) *Comparison {
	c := &Comparison{
		A:      side(a),
		B:      side(b),
		Totals: join(totals(a), totals(b)),
		Path:   pathLines(a, b),
		Phases: join(phases(a), phases(b)),
	}
	c.Sentence = c.say()
	return c
}

// pathLines compares the critical paths, if both lead to started: else they do not end at the same thing.
func pathLines(a, b *waterfall.Waterfall) []Line {
	out := join(path(a), path(b))
	if a.Started < 0 || b.Started < 0 {
		return out
	}
	for i, l := range out {
		out[i].Delta = new(orZero(l.B) - orZero(l.A))
	}
	return out
}

func side(f *waterfall.Waterfall) Side {
	return Side{Pod: f.Pod, Origin: f.Origin.UTC(), Started: f.Started >= 0, Incomplete: f.Incomplete}
}

// join matches what both are about: in a's order, what only b has after what it follows there.
func join(a, b *times) []Line {
	var out []Line
	done := map[about]bool{}
	next := 0
	onlyB := func() { // up to b's next phase that a has as well
		for ; next < len(b.order); next++ {
			of := b.order[next]
			if _, both := a.by[of]; both && !done[of] {
				return
			}
			if !done[of] {
				out, done[of] = append(out, line(of, a, b)), true
			}
		}
	}
	onlyB()
	for _, of := range a.order {
		out, done[of] = append(out, line(of, a, b)), true
		onlyB()
	}
	return out
}

func line(of about, a, b *times) Line {
	l := Line{Label: of.label(), A: a.get(of), B: b.get(of)}
	if l.A == nil || l.B == nil {
		return l
	}
	l.Delta = new(*l.B - *l.A)
	if *l.A > 0 {
		l.Percent = new(percent(*l.Delta, *l.A))
	}
	return l
}

// percent returns a's share of b, rounded away from zero at the half.
func percent(a, b time.Duration) int {
	half := b / 2
	if a < 0 {
		half = -half
	}
	return int((100*a + half) / b)
}
