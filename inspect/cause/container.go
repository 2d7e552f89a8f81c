package cause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// state is the last that is known of a container.
type state struct {
	*trace.ContainerStatus
	Rec *trace.Record
	// first is the first status of those in a row that say the same of it.
	first *trace.Record
}

// states are the containers' last states, by the pod's statuses, in their order.
func (c *Case) states() (out []state) {
	for _, p := range ownPoints[*trace.PodStatus](c) {
		for i := range p.Event.Containers {
			s := state{&p.Event.Containers[i], p.Rec, p.Rec}
			at := slices.IndexFunc(out, func(o state) bool { return o.Name == s.Name })
			if at < 0 {
				out = append(out, s)
				continue
			}
			if old := out[at]; old.State == s.State && old.Reason == s.Reason && old.ID == s.ID {
				s.first = old.first
			}
			out[at] = s
		}
	}
	return out
}

// exit is the last exit of a container that its state has; nil if there is none.
func (s *state) exit() *trace.ContainerExit {
	if s.State == trace.ContainerTerminated {
		return &trace.ContainerExit{
			Reason: s.Reason, Message: s.Message, Class: s.Class, ID: s.ID, ExitCode: s.ExitCode, Started: s.Started, Finished: s.Finished,
		}
	}
	return s.Last
}

// specOf is a container's spec; nil where it is not known.
func (c *Case) specOf(name string) *trace.ContainerSpec {
	spec := c.spec()
	if spec == nil {
		return nil
	}
	for _, all := range [][]trace.ContainerSpec{spec.Containers, spec.InitContainers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

// unwell reports whether the pod is not what it should be: it has not come up, is no longer ready, or has failed.
func (c *Case) unwell() bool {
	st := c.status()
	return c.stuck() && c.Stage() != Ending || st != nil && st.Event.Phase == trace.PodFailed
}

// costFrom is how long something has made the pod fail since from: until now where that continues, else what of the start it took up to a time.
func (c *Case) costFrom(from, to time.Time, current bool) time.Duration {
	if current {
		return c.Now.Sub(from)
	}
	return covered(clip(c.stretchesOf(c.path()), from, to))
}

// failed reports whether the pod's phase is one that it does not leave, other than Succeeded.
func (c *Case) failed() bool {
	st := c.status()
	return st != nil && st.Event.Phase == trace.PodFailed
}
