package observers

import (
	"cmp"
	"slices"
	"time"
)

// near is how far from a phase what an observer tells of may begin or end, and still be of that phase. What is further away is another one.
const near = 2 * time.Second

// Edge is how far an observer's begin and end of a phase lie from the truth. Positive is later.
type Edge struct {
	Phase      Phase // as it was
	Begin, End time.Duration
}

// Compare finds for each phase the nearest one of its kind that an observer tells of. missing are those of which it tells nothing.
func Compare(truth, seen []Phase) (edges []Edge, missing []Phase) {
	used := make([]bool, len(seen))
	for _, p := range truth {
		best := -1
		for i, s := range seen {
			if used[i] || !s.same(p) || distance(s, p) > near {
				continue
			}
			if best < 0 || distance(s, p) < distance(seen[best], p) {
				best = i
			}
		}
		if best < 0 {
			missing = append(missing, p)
			continue
		}
		used[best] = true
		edges = append(edges, Edge{Phase: p, Begin: time.Duration(seen[best].From - p.From), End: time.Duration(seen[best].To - p.To)})
	}
	return edges, missing
}

func distance(a, b Phase) time.Duration {
	return time.Duration(min(max(a.From-b.From, b.From-a.From), max(a.To-b.To, b.To-a.To)))
}

// Off is how far the worse one of begin and end is off.
func (e Edge) Off() time.Duration { return max(e.Begin, -e.Begin, e.End, -e.End) }

// Worst returns the n edges that are furthest off, the worst first.
func Worst(edges []Edge, n int) []Edge {
	all := slices.SortedStableFunc(slices.Values(edges), func(a, b Edge) int { return cmp.Compare(b.Off(), a.Off()) })
	return all[:min(n, len(all))]
}

// Spread is what the errors of edges are, without their signs.
type Spread struct{ P50, P95, Most time.Duration }

// SpreadOf returns the spread of errors.
func SpreadOf(errs []time.Duration) Spread {
	if len(errs) == 0 {
		return Spread{}
	}
	all := make([]time.Duration, len(errs))
	for i, e := range errs {
		all[i] = max(e, -e)
	}
	slices.Sort(all)
	return Spread{P50: all[(len(all)-1)/2], P95: all[(len(all)-1)*95/100], Most: all[len(all)-1]}
}
