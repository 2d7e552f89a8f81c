package store

import "github.com/kubeloupe/kubeloupe/trace"

// jump is a step of the wall clock: shift is the total to subtract from times from its time on.
type jump struct{ at, shift int64 }

// maxJumps limits the number of steps that are kept; a start does not normally have more.
const maxJumps = 16

// stepped corrects the runs that are starting or terminating, as if the wall clock had not been set, or the machine not
// been suspended: the durations of a start or a termination, and of the waits in it, must not include the step.
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

// jumped records that times of records jumped ahead.
func (p *PodRun) jumped(at, by int64) {
	p.shift += by
	// There is no record between the two times of a step: the middle tolerates clocks that are read one after the
	// other.
	p.jumps = append([]jump{{at: at - by/2, shift: p.shift}}, p.jumps[:min(len(p.jumps), maxJumps)]...)
}

// straight corrects a span's time like those of the run's records.
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
