package store

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// runOf returns the run of a record, which may begin with it; nil for the node.
func (s *Store) runOf(it *Item) *PodRun {
	if span, ok := it.Event.(*trace.RuntimeSpan); ok {
		return s.runOfSpan(it, span)
	}
	if it.Pod.Name == "" { // A pod that no longer exists has only a UID: actions on its remains are the node's.
		return nil
	}
	p := s.latest
	if p == nil || p.Pod != it.Pod || p.forgotten || p.after != nil {
		p = s.byPod[it.Pod]
	}
	if p == nil {
		p = s.begin(it, nil)
	} else if m, ok := it.Event.(*trace.Milestone); ok {
		switch {
		case m.Name == trace.MilestoneSeen && p.ending == s.agents && p.Times.Gone == 0:
			p.next = it
		case m.Name == trace.MilestoneSeen && p.marked:
			p = s.begin(it, p)
		case p.next != nil && (m.Name == trace.MilestoneStarted || m.Name == trace.MilestoneReady):
			p = s.continues(p) // that the last run is gone was lost
		}
	}
	if _, ok := it.Event.(*trace.CRICall); ok {
		s.trace(it.Trace, p)
	}
	s.latest = p
	return p
}

// trace notes of which run a trace is.
func (s *Store) trace(id trace.TraceID, p *PodRun) {
	n := len(p.traces)
	if id.IsZero() || n >= maxTraces || n > 0 && p.traces[n-1] == id || len(s.byTrace) >= s.policy.Traces || s.byTrace[id] == p {
		return
	}
	s.byTrace[id] = p
	p.traces = append(p.traces, id)
}

// runOfSpan finds the run that a span of the runtime is about: it may be told when the next has begun.
func (s *Store) runOfSpan(it *Item, span *trace.RuntimeSpan) *PodRun {
	p := s.byPod[it.Pod]
	if p == nil && it.Pod.Name == "" {
		p = s.byTrace[it.Trace]
	}
	for range maxBack {
		if p == nil || p.Before == nil || span.Start >= p.Times.From {
			break
		}
		p = p.Before
	}
	if p != nil && s.policy.Straight {
		it.Pod = p.Pod
	}
	return p
}

// begin begins a run of the item's pod, after the one before it, if any.
func (s *Store) begin(it *Item, before *PodRun) *PodRun {
	p := &PodRun{
		Pod: it.Pod, N: 1, win: newWindow(s.policy.First, s.policy.Newest), Before: before, store: s, born: len(s.stops), died: -1, ending: -1,
	}
	p.Times.From = it.Time
	if before != nil {
		p.N, before.until, before.after = before.N+1, max(it.Time, before.Times.Gone), p
		before.ended()
		s.trim(before)
	}
	s.byPod[p.Pod] = p
	s.runs, s.whole = append(s.runs, p), append(s.whole, p)
	if s.policy.Runs > 0 && (len(s.runs)-s.stale > s.policy.Runs || s.policy.Over > 0 && s.over > s.policy.Over) {
		s.makeRoom()
	}
	return p
}

// continues begins the run that waited for the end of this one.
func (s *Store) continues(p *PodRun) *PodRun {
	it := p.next
	p.next = nil
	p = s.begin(it, p)
	p.add(it)
	return p
}

// trim keeps of the runs that a pod had before as much as the policy says, the newest.
func (s *Store) trim(p *PodRun) {
	left := s.policy.Earlier
	if left == 0 {
		return
	}
	for n := 1; p != nil; n, p = n+1, p.Before {
		if left -= p.win.count(); left >= 0 && n < maxBack {
			continue
		}
		p.win.newest(max(0, left+p.win.count()))
		for old := p.Before; old != nil; old = old.Before {
			s.unlink(old)
			old.win = window{}
		}
		p.Before = nil
	}
}

// makeRoom drops the oldest runs that are over; if there are none, the oldest. Room is made for some at once.
func (s *Store) makeRoom() {
	drop, most := 0, s.policy.Runs
	if len(s.Runs()) > most {
		drop = max(1, most/16)
	}
	if over := s.policy.Over; over > 0 && s.over > over {
		drop = max(drop, s.over-over+over/16)
	}
	kept := make([]*PodRun, 0, len(s.runs))
	newest := s.runs[len(s.runs)-1]
	for _, p := range s.runs {
		if drop > 0 && p != newest && p.Over() {
			drop--
			s.unlink(p)
			continue
		}
		kept = append(kept, p)
	}
	if over := len(kept) - most; over > 0 {
		over = min(over+drop-1, len(kept)-1)
		for _, p := range kept[:over] {
			s.unlink(p)
		}
		kept = slices.Clone(kept[over:])
	}
	s.runs, s.stale = kept, 0
	s.whole = slices.DeleteFunc(s.whole, gone)
}

// Forget lets go of all runs of a pod.
func (s *Store) Forget(pod trace.Pod) {
	for p := s.byPod[pod]; p != nil; p = p.Before {
		s.unlink(p)
		p.win, p.again, p.traces = window{}, evidence.Routine{}, nil
	}
	if 2*s.stale > len(s.runs) {
		s.whole = slices.DeleteFunc(s.whole, gone)
		s.Runs()
	}
}

// unlink removes what leads to a run.
func (s *Store) unlink(p *PodRun) {
	if p.forgotten {
		return
	}
	p.forgotten = true
	s.stale++
	if p.died >= 0 {
		s.over--
	}
	if s.byPod[p.Pod] == p {
		delete(s.byPod, p.Pod)
	}
	for _, t := range p.traces {
		if s.byTrace[t] == p {
			delete(s.byTrace, t)
		}
	}
	if p.after != nil {
		p.after.Before = nil
	}
}
