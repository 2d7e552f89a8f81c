package cause

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// ordered sorts findings: why the pod does not run again comes before all that delayed it.
func ordered(c *Case, out []Finding) []Finding {
	sorting.Stable(out, func(a, b *Finding) int {
		if d := first(b.Final, a.Final); d != 0 {
			return d
		}
		if c.stuck() {
			if d := cmp.Or(first(b.Current, a.Current), first(!pressing(b.ID), !pressing(a.ID))); d != 0 {
				return d
			}
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// inTime sorts evidence by its time.
func inTime(all []Evidence) {
	sorting.Stable(all, func(a, b *Evidence) int { return a.Time.Compare(b.Time) })
}

// first is 1 where only the first is true, -1 where only the second is.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// pressing reports whether a rule estimates from the node's pressure.
func pressing(id string) bool { return id == "KL23" || id == "KL24" || id == "KL25" }

// explained is how much of the pod's start, and of its end, causes explain that are certain or continue.
type explained struct{ start, end time.Duration }

func explainedBy(all []Finding) (by explained) {
	for i := range all {
		switch f := &all[i]; {
		case f.Confidence != Certain && !f.Current:
		case f.End > 0:
			by.end += f.Cost
		default:
			by.start += f.Cost
		}
	}
	return by
}

// left is what others leave of a part for pressure to explain: a call that waits is no work that a processor could have sped up.
func (by explained) left(p *part) time.Duration {
	if p.end > 0 {
		return max(p.whole-by.end, 0)
	}
	return max(p.whole-by.start, 0)
}
