package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Status is the known status of a pod in the agent and in the API.
type Status struct {
	Pod trace.Pod
	// Phase, Ready and Total are the agent's, since At; zero: none yet.
	Phase        trace.PodPhase
	Reason       string
	Ready, Total int
	At           time.Time
	// Last is the last finished write and Open the running one; their Begin is zero if there is none.
	Last, Open Patch
	// Good is the last successful write of the status.
	Good Patch
	// Pending is since when a change is known to be missing in the API; zero: none.
	Pending time.Time
	// Writes and Errors count finished writes; Bytes is the size of successful ones.
	Writes, Errors int
	Bytes          int64
	// Deleted is when the object was deleted.
	Deleted time.Time
	Waits   []Wait      // current
	Waited  []WaitTotal // of the finished ones
}

// Patch is one write about a pod's object.
type Patch struct {
	trace.StatusPatch
	Begin     time.Time
	Dur       time.Duration // 0 while it runs
	Uncertain bool          // it may have ended unobserved
}

// Known reports whether there is such a write.
func (p *Patch) Known() bool { return !p.Begin.IsZero() }

// State returns a status's state in one word, for lists.
func (s *Status) State() StatusState {
	switch {
	case s.Open.Known():
		return StatusWriting
	case len(s.Waits) > 0:
		return StatusWaiting
	case s.Last.Err != "" && !s.Pending.IsZero():
		return StatusFailing
	case !s.Pending.IsZero():
		return StatusPending
	case !s.Deleted.IsZero():
		return StatusDeleted
	case s.Good.Known():
		return StatusInAPI
	}
	return StatusNotWritten
}

// written is a Status being folded.
type written struct {
	Status
	span  trace.SpanID
	waits waits
}

func (p *pod) status() *written {
	if p.written == nil {
		p.written = &written{waits: newWaits()}
		p.written.Pod = p.Key
	}
	return p.written
}

// Statuses returns the statuses of all pods that are not gone, in the order in which they were first seen.
func (m *Model) Statuses() []Status {
	pods := m.inOrder()
	out := make([]Status, 0, len(pods))
	for _, p := range pods {
		out = append(out, p.statusView())
	}
	return out
}

func (p *pod) statusView() Status {
	s := Status{Pod: p.Key}
	if w := p.written; w != nil {
		s = w.Status
		s.Waits, s.Waited = w.waits.now(), w.waits.over()
		if s.Pending.IsZero() && len(s.Waits) > 0 {
			s.Pending = s.Waits[0].Since
		}
	}
	s.Phase, s.Reason, s.Ready, s.Total, s.At = p.Phase, p.Pod.Reason, p.Ready, p.Total, p.StatusAt
	return s
}

func (m *Model) applyPatch(p *pod, r *trace.Record, e *trace.StatusPatch) {
	s := p.status()
	if r.Edge == trace.EdgeBegin {
		s.Open, s.span = Patch{StatusPatch: *e, Begin: r.At()}, r.Span
		if s.Pending.IsZero() {
			s.Pending = r.At().Add(-e.Age)
		}
		id := r.Span
		m.begin(func() {
			if s.span == id {
				s.Open, s.span = Patch{}, 0
			}
		}, func() { s.Open.Uncertain = true })
		return
	}
	m.end()
	s.Last = Patch{StatusPatch: *e, Begin: at(r.Start()), Dur: r.Dur}
	s.Writes++
	if e.Err != "" {
		s.Errors++
		if s.Pending.IsZero() {
			s.Pending = r.At().Add(-e.Age)
		}
		return
	}
	s.Pending = time.Time{}
	s.Bytes += int64(e.Bytes)
	switch e.Op {
	case trace.PatchStatus:
		s.Good = s.Last
		if ready := p.Start.Ready; !ready.IsZero() && (waterfall.SaysReady(e) || !s.Last.Begin.Before(ready)) {
			p.recorded(r)
		}
	case trace.PatchDelete:
		s.Deleted = r.At()
	case trace.CreateMirror, trace.DeleteMirror:
	}
}
