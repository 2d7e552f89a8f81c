package store

import "github.com/kubeloupe/kubeloupe/trace"

// jump is a step of the wall clock: from its time on, so much is taken off in all.
type jump struct{ at, shift int64 }

// maxJumps bounds the steps that are remembered; more in one start are nobody's work.
const maxJumps = 16

// stepped has the runs that have not come to be ready, or are ending, go on as if the wall clock had not been set, or the machine not
// been suspended: what a start or an end takes, and what waits in it, is not to be longer by that.
func (s *Store) stepped(at int64, e *trace.ClockStepped) {
	if e.Jump <= 0 || !s.policy.Straight {
		return
	}
	for _, p := range s.runs {
		if (p.Times.Ready == 0 || p.Times.Ending != 0) && !p.Over() {
			p.jumped(at, int64(e.Jump))
		}
	}
}

// jumped notes that times of records went ahead by so much at a time.
func (p *PodRun) jumped(at, by int64) {
	p.shift += by
	// Nothing was between the two times on both sides of a step: the middle leaves room for clocks that are read one after the other.
	p.jumps = append([]jump{{at: at - by/2, shift: p.shift}}, p.jumps[:min(len(p.jumps), maxJumps)]...)
}

// straight has a span's time continue like those of the run's records.
func (p *PodRun) straight(e *trace.RuntimeSpan) *trace.RuntimeSpan {
	for _, j := range p.jumps {
		if e.Start >= j.at {
			moved := *e
			moved.Start -= j.shift
			return &moved
		}
	}
	return e
}
