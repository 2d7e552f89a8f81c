package semaphore

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// maxTold limits how many holders a wait names. Those who have held their slots for longest come first.
const maxTold = 4

// told returns the holders that a wait names when it begins. Called without mu.
func told(works []*Work, now time.Time) (out []trace.Holder) {
	for _, w := range works {
		out = append(out, trace.Holder{Pod: w.place.turn.Pod, Call: w.kind, For: now.Sub(w.began)})
	}
	return out
}

// stayed returns the holders that a wait names when it ends: those at its begin, and those that overstayed since.
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
	sorting.Stable(out, func(a, b *trace.Holder) int { return cmp.Compare(b.For, a.For) })
	return out[:min(len(out), maxTold)]
}

// holders returns the work that others wait for now, longest first. Called with mu.
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
