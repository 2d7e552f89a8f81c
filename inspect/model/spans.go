package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// doubtLimit is how long a span whose end may have been lost is still shown.
const doubtLimit = 10 * time.Minute

// span is something begun and not ended.
type span struct {
	id     trace.SpanID
	parent trace.SpanID
	began  int64
	doubt  bool
	drop   func() // takes it out of whatever shows it
	mark   func() // marks it uncertain there
	// older and newer are its neighbours among all, left and right those among what has the same parent.
	older, newer, left, right peer
}

// peer is a span that others own.
type peer *span

// spans are the open spans of the stream, at most max of them: the oldest make room.
type spans struct {
	byID  map[trace.SpanID]*span
	below map[trace.SpanID]peer // by parent, the first of those that it has
	// oldest and newest are the ends of all.
	oldest, newest peer
	max            int
	doubts         int
	pruned         int64
}

func newSpans(size int) spans {
	return spans{byID: map[trace.SpanID]*span{}, below: map[trace.SpanID]peer{}, max: size}
}

// begin notes an open span. drop and mark are called at most once each; they must not use r,
// which is the caller's.
func (s *spans) begin(r *trace.Record, drop, mark func()) {
	if r.Span == 0 {
		return
	}
	if len(s.byID) >= s.max {
		s.dropOldest()
	}
	if again := s.byID[r.Span]; again != nil {
		s.unlink(again)
	}
	sp := &span{id: r.Span, parent: r.Parent, began: r.Time, drop: drop, mark: mark}
	s.byID[sp.id] = sp
	s.link(sp)
}

// link puts a span at the end of all, and before those of the same parent.
func (s *spans) link(sp *span) {
	if sp.older = s.newest; sp.older != nil {
		sp.older.newer = sp
	} else {
		s.oldest = sp
	}
	s.newest = sp
	if sp.right = s.below[sp.parent]; sp.right != nil {
		sp.right.left = sp
	}
	s.below[sp.parent] = sp
}

// end closes a span and whatever uncertain ones were left below it.
func (s *spans) end(id trace.SpanID) {
	sp, ok := s.byID[id]
	if !ok {
		return
	}
	s.remove(sp)
	if s.doubts == 0 {
		return
	}
	var doubtful []trace.SpanID
	for c := s.below[id]; c != nil; c = c.right {
		if c.doubt {
			doubtful = append(doubtful, c.id)
		}
	}
	for _, id := range doubtful {
		s.end(id)
	}
}

// settle closes those of ids that are uncertain.
func (s *spans) settle(ids []trace.SpanID) {
	for _, id := range ids {
		if sp, ok := s.byID[id]; ok && sp.doubt {
			s.end(id)
		}
	}
}

// doubt marks everything open as uncertain.
func (s *spans) doubt() {
	for _, sp := range s.byID {
		if !sp.doubt {
			sp.doubt = true
			s.doubts++
			sp.mark()
		}
	}
}

// clear closes everything: the agent that had begun it is no more.
func (s *spans) clear() {
	for _, sp := range s.byID {
		s.remove(sp)
	}
}

// prune drops, once a minute of stream time, what has been in doubt for too long.
func (s *spans) prune(now int64) {
	if s.doubts == 0 || now-s.pruned < int64(time.Minute) {
		return
	}
	s.pruned = now
	for _, sp := range s.byID {
		if sp.doubt && now-sp.began > int64(doubtLimit) {
			s.remove(sp)
		}
	}
}

func (s *spans) remove(sp *span) {
	if _, ok := s.byID[sp.id]; !ok {
		return
	}
	s.unlink(sp)
	sp.drop()
}

func (s *spans) unlink(sp *span) {
	delete(s.byID, sp.id)
	if sp.older != nil {
		sp.older.newer = sp.newer
	} else {
		s.oldest = sp.newer
	}
	if sp.newer != nil {
		sp.newer.older = sp.older
	} else {
		s.newest = sp.older
	}
	if sp.right != nil {
		sp.right.left = sp.left
	}
	switch {
	case sp.left != nil:
		sp.left.right = sp.right
	case sp.right != nil:
		s.below[sp.parent] = sp.right
	default:
		delete(s.below, sp.parent)
	}
	if sp.doubt {
		s.doubts--
	}
}

func (s *spans) dropOldest() {
	if s.oldest != nil {
		s.remove(s.oldest)
	}
}
