package kernel

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// leastBefore is how long before the end of an attempt of a probe the figures of a limit begin at least: the log mostly does not tell when it
// began, and a limit counts periods of 100 ms.
const leastBefore = 2 * time.Second

// See takes in a record that is about to be published, which several observers may have told of, and adds what only the kernel knows: how
// a CPU limit held a container back whose probe failed. A kill or a mount that it saw itself gets the names that others know. It learns from it
// which pods there are. It returns false for a record of its own that is not to be published: another one tells more of the same. It is for one
// goroutine.
func (k *Kernel) See(r *trace.Record) (keep bool) {
	k.known.see(r)
	switch e := r.Event.(type) {
	case *trace.Milestone:
		if e.Name == trace.MilestoneGone {
			k.setups.gone(r.Pod.UID)
		}
	case *trace.Volume:
		if keep = k.setups.see(r, e); keep && r.Observer == trace.ObserverKernel {
			r.Pod, r.Trace = k.known.of(r.Pod.UID)
			keep = r.Pod.Name != ""
		}
		return keep
	case *trace.Action:
		switch {
		case e.Verb != trace.VerbCreate:
		case r.Edge == trace.EdgeEnd:
			delete(k.creating, r.Span)
		default:
			if len(k.creating) >= maxPods { // of most, the end is missing
				clear(k.creating)
			}
			k.creating[r.Span] = e.Container
		}
	case *trace.CRICall:
		if e.Method == "CreateContainer" {
			k.limits.named(r.Pod.UID, k.creating[r.Parent], e.Container)
		}
	case *trace.PodStatus:
		for _, c := range e.Containers {
			k.limits.named(r.Pod.UID, c.Name, c.ID[strings.LastIndexByte(c.ID, '/')+1:])
		}
	case *trace.PLEGEvent:
		k.limits.named(r.Pod.UID, e.Name, e.Container)
	case *trace.OOMKill:
		k.ofPod(r, e)
	case *trace.ProbeAttempt:
		if r.Edge == trace.EdgeBegin || e.Throttle != nil || e.Result != trace.ProbeFailure && e.Result != trace.ProbeError {
			return true
		}
		to := r.At()
		from := to.Add(-max(r.Dur, leastBefore))
		if t := k.limits.holdback(r.Pod.UID, e.Container, from, to); t != nil {
			with := *e
			with.Throttle = t
			r.Event, r.Also = &with, r.Also.With(trace.ObserverKernel)
		}
	}
	return true
}
