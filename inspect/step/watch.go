package step

import (
	"context"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// read reads the pod's records, for `until` and `where`, until the cursor is closed.
func (s *Session) read(cur *trace.Cursor) {
	buf := make([]trace.Record, 0, 64)
	for {
		recs, _, err := cur.Next(context.Background(), buf)
		if err != nil {
			return
		}
		for i := range recs {
			if s.matches(recs[i].Pod) {
				s.note(&recs[i])
			}
		}
	}
}

// note handles one record of the pod.
func (s *Session) note(r *trace.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := r.Event.(type) {
	case *trace.Sync:
		s.sync = *e
		if r.Edge == trace.EdgeEnd && e.Err != "" && !s.quit {
			s.news(r.Pod, e.Err)
		}
	case *trace.Milestone:
		s.pass(r.Pod, e)
	}
}

// pass records a milestone. One that until waits for stops the pod at its next action; so does the end of the part that
// an attached person steps through. Called with mu.
func (s *Session) pass(pod trace.Pod, e *trace.Milestone) {
	if e.Name == trace.MilestoneSeen {
		s.passed = nil
	}
	s.passed = append(s.passed, Milestone{Name: e.Name, Since: e.Since})
	switch over := e.Name == trace.MilestoneStarted || e.Name == trace.MilestoneTerminating || e.Name == trace.MilestoneGone; {
	case s.until == e.Name:
		s.until, s.pace = "", toAction
	case s.cfg.Attached && s.until == "" && over:
		s.pace = toAction // the next part of the pod's life follows
	}
	s.news(pod, "")
}

// news notifies the client while no action is paused. Called with mu.
func (s *Session) news(pod trace.Pod, err string) {
	if s.waiting != nil || s.look != nil || s.open {
		return
	}
	stop := s.stop
	stop.Pod, stop.Next, stop.Call, stop.When, stop.Hit, stop.Changed, stop.Until = pod, "", "", "", "", nil, 0
	stop.Attached, stop.Only, stop.Passed, stop.Err, stop.Took = s.cfg.Attached, s.cfg.Only, slices.Clone(s.passed), err, 0
	stop.Actions = slices.Clone(s.stop.Actions)
	for i := range stop.Actions {
		a := &stop.Actions[i]
		if ended, ok := s.ended[a.ID]; ok {
			a.State, a.Dur, a.Err = ended.State, ended.Dur, ended.Err
		} else if a.State == Next {
			a.State = Todo
		}
	}
	s.offer(stop)
}
