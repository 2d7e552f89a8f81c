package gc

import (
	"cmp"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// deadContainer is a dead container within its unit's limit.
type deadContainer struct {
	unit    unit
	rank    int // 1 for the newest of its unit
	created int64
	verdict int // its index in the verdicts
}

// capTotal changes verdicts to removal until at most limit dead containers are kept: first by an equal share for each
// unit (at least one), then the oldest.
func capTotal(limit int, dead []deadContainer, verdicts []Verdict) {
	if limit < 0 || len(dead) <= limit {
		return
	}
	units := make(map[unit]bool)
	for _, d := range dead {
		units[d.unit] = true
	}
	share := max(limit/len(units), 1)
	remove := func(d deadContainer) {
		verdicts[d.verdict].Remove = true
		verdicts[d.verdict].Reason = fmt.Sprintf("the node keeps %d dead containers, which is %d of each name", limit, share)
	}
	rest := dead[:0:0]
	for _, d := range dead {
		if d.rank > share {
			remove(d)
			continue
		}
		rest = append(rest, d)
	}
	sorting.Stable(rest, func(a, b *deadContainer) int { return cmp.Compare(b.created, a.created) })
	for _, d := range rest[min(limit, len(rest)):] {
		remove(d)
		verdicts[d.verdict].Reason = fmt.Sprintf("the node keeps the newest %d dead containers", limit)
	}
}
