package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Stage is where a pod is in its life.
type Stage string

// The stages.
const (
	Starting Stage = "starting" // it has not been ready yet
	Up       Stage = "up"
	Down     Stage = "down" // it was ready, or was found running, and is not ready
	Ending   Stage = "ending"
	Over     Stage = "over" // it is gone, or its containers have completed
	// Unknown is in reports alone: records mention the pod, and show neither its start nor what it waits for.
	Unknown Stage = "unknown"
)

// Stage returns where the pod is.
func (c *Case) Stage() Stage {
	st := c.status()
	switch {
	case c.milestone(trace.MilestoneGone) != nil:
		return Over
	case !c.Rests().IsZero():
		return Over
	case c.milestone(trace.MilestoneTerminating) != nil:
		return Ending
	case st != nil && st.Event.Phase.Terminal():
		return Over
	case !c.hasBeenUp():
		return Starting
	case st != nil && st.Event.Ready < st.Event.Total:
		return Down
	}
	return Up
}

// Rejected returns the reason why the kubelet rejected the pod, if it did.
func (c *Case) Rejected() (why string, ok bool) {
	for _, d := range ownPoints[*trace.Decision](c) {
		if d.Event.By == trace.ByAdmission && d.Event.Verdict == trace.VerdictReject {
			why, ok = d.Event.Reason, true
		}
	}
	return why, ok
}

// Rests is when the node had finished with a pod that terminated by itself and that is not deleted; zero otherwise.
func (c *Case) Rests() time.Time {
	var since time.Time
	for i := range c.Records {
		switch e := c.Records[i].Event.(type) {
		case *trace.Worker:
			if since = (time.Time{}); e.To == trace.WorkerTerminated {
				since = c.Records[i].At()
			}
		case *trace.Source:
			if e.Op == trace.OpDelete || e.Op == trace.OpRemove {
				return time.Time{}
			}
		}
	}
	if st := c.status(); st == nil || !st.Event.Phase.Terminal() {
		return time.Time{}
	}
	return since
}

// hasBeenUp reports whether the pod was ready once, or was found running, or has started and nobody could see that it is ready.
func (c *Case) hasBeenUp() bool {
	if r := c.milestone(trace.MilestoneStarted); r != nil {
		if m, ok := r.Event.(*trace.Milestone); ok && m.Final {
			return true
		}
	}
	return c.milestone(trace.MilestoneReady) != nil || c.Found()
}

// SeenReady reports whether records show that the pod was ready: of one that was found running they may not.
func (c *Case) SeenReady() bool {
	if c.milestone(trace.MilestoneReady) != nil {
		return true
	}
	for _, p := range ownPoints[*trace.PodStatus](c) {
		if p.Event.Total > 0 && p.Event.Ready >= p.Event.Total {
			return true
		}
	}
	return false
}

// Found reports whether the pod was found running, so that its start was not seen.
func (c *Case) Found() bool {
	for _, m := range ownPoints[*trace.Milestone](c) {
		if m.Event.Adopted {
			return true
		}
	}
	return false
}

// Unwanted returns why housekeeping removed the pod, if it found it running and no source had it.
func (c *Case) Unwanted() (why string, ok bool) {
	for _, d := range ownPoints[*trace.Decision](c) {
		if d.Event.By == trace.ByHousekeeping && d.Event.Verdict == trace.VerdictRemove {
			why, ok = d.Event.Reason, true
		}
	}
	return why, ok && c.Found()
}

// spec is what is known of the pod's spec; nil where nobody told.
func (c *Case) spec() *trace.PodSpec {
	r := c.milestone(trace.MilestoneSeen)
	if r == nil {
		return nil
	}
	m, ok := r.Event.(*trace.Milestone)
	if !ok {
		return nil
	}
	return m.Spec
}

// stuck reports whether something should still become of the pod, so that what it waits for matters now.
func (c *Case) stuck() bool {
	s := c.Stage()
	return s == Starting || s == Down || s == Ending
}

// DownSince is when the pod stopped being ready, according to its statuses; zero if it has not.
func (c *Case) DownSince() time.Time {
	var since time.Time
	for _, p := range ownPoints[*trace.PodStatus](c) {
		switch {
		case p.Event.Ready >= p.Event.Total:
			since = time.Time{}
		case since.IsZero():
			since = p.Rec.At()
		}
	}
	return since
}

// status is the pod's last status; nil when none was told.
func (c *Case) status() *Point[*trace.PodStatus] {
	for i := len(c.Records) - 1; i >= 0; i-- {
		if e, ok := c.Records[i].Event.(*trace.PodStatus); ok {
			return &Point[*trace.PodStatus]{Event: e, Rec: &c.Records[i]}
		}
	}
	return nil
}
