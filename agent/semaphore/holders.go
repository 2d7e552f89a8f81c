package semaphore

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxTold is how many holders a wait names. Those who have held their places for longest come first.
const maxTold = 4

// told is how a wait that begins names holders. Called without the lock.
func told(works []*Work, now time.Time) (out []trace.Holder) {
	for _, w := range works {
		out = append(out, trace.Holder{Pod: w.place.turn.Pod, Call: w.kind, For: now.Sub(w.began)})
	}
	return out
}

// stayed is how a wait that ends names those it was behind: the ones at its begin, and who overstayed since.
func (s *Slots) stayed(behind []*Work, since time.Time) (out []trace.Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	all := slices.Clone(behind)
	for _, w := range s.left {
		if !w.left.Before(since) && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	for _, w := range all {
		h := trace.Holder{Pod: w.place.turn.Pod, Call: w.kind, For: now.Sub(w.began), Overstays: !w.left.IsZero()}
		if !w.ended.IsZero() {
			h.For = w.ended.Sub(w.began)
		}
		out = append(out, h)
	}
	slices.SortStableFunc(out, func(a, b trace.Holder) int { return cmp.Compare(b.For, a.For) })
	return out[:min(len(out), maxTold)]
}

// holders are the pieces of work that keep others waiting now, longest first. Called with the lock held.
func (s *Slots) holders() []*Work {
	var all []*Work
	for p := range s.places {
		all = append(all, p.works...)
	}
	slices.SortFunc(all, func(a, b *Work) int {
		return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.kind, b.kind))
	})
	return all[:min(len(all), maxTold)]
}
