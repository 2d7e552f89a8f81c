package rank

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Start has the ranked figures of one start. Durations are in nanoseconds.
type Start struct {
	Pod    trace.Pod `json:"pod"`
	Source string    `json:"source,omitempty"`
	Images []string  `json:"images,omitempty"`
	Seen   time.Time `json:"seen"`
	// Started and Ready are since seen; -1 when the pod has not got there, which JSON leaves out. SoFar is Started, or how
	// long the pod has been seen.
	Started time.Duration `json:"-"`
	Ready   time.Duration `json:"-"`
	SoFar   time.Duration `json:"so_far_ns"`
	// Never says that the pod cannot start any more: the kubelet rejected it, or it has failed or succeeded. SoFar is then
	// how long it took until that was clear.
	Never bool          `json:"never,omitempty"`
	Floor time.Duration `json:"floor_ns,omitempty"`
	// Stepped says that a person held the start with step: it is in no figure, and is listed after all others.
	Stepped bool `json:"stepped,omitempty"`
	// Phases are the phases on the critical path from seen to started, such as pull, create, wait queue, unexplained.
	Phases []Phase `json:"phases"`
	// Cause is one line about what took the most time.
	Cause string `json:"cause,omitempty"`
}

// unexplained is the phase that every start has.
var unexplained = waterfall.Part{Kind: waterfall.SegmentUnexplained}

// Phase is the total time of one kind of segment on a start's critical path.
type Phase struct {
	part waterfall.Part
	Name string        `json:"name"`
	Dur  time.Duration `json:"dur_ns"`
}

// Of returns the ranked figures of a waterfall.
func Of(f *waterfall.Waterfall) Start {
	s := Start{
		Pod: f.Pod, Source: string(f.Source), Seen: f.Origin.UTC(), Started: f.Started, Ready: f.Ready, SoFar: f.Length(), Floor: f.Floor, Cause: f.Cause(),
		Stepped: f.Stepped(), Never: f.Never(),
	}
	for _, seg := range f.Path {
		if seg.Kind != waterfall.SegmentUnexplained {
			s.add(seg.Phase(), seg.Dur())
		}
	}
	s.add(unexplained, f.Unexplained) // also when there is none: it is the promise
	for _, r := range f.Rows() {
		if r.Verb == trace.VerbImage && r.Depth == 0 && !slices.Contains(s.Images, r.Detail) {
			s.Images = append(s.Images, r.Detail)
		}
	}
	return s
}

func (s *Start) add(part waterfall.Part, d time.Duration) {
	for i := range s.Phases {
		if s.Phases[i].part == part {
			s.Phases[i].Dur += d
			return
		}
	}
	s.Phases = append(s.Phases, Phase{part: part, Name: part.Label(), Dur: d})
}

// in returns the duration of a start's phase, false if it has no such phase.
func (s *Start) in(phase string) (time.Duration, bool) {
	for _, p := range s.Phases {
		if p.Name == phase {
			return p.Dur, true
		}
	}
	return 0, false
}

// longest returns the longest phase.
func (s *Start) longest() Phase {
	var best Phase
	for _, p := range s.Phases {
		if p.Dur > best.Dur {
			best = p
		}
	}
	return best
}
