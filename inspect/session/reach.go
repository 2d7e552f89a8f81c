package session

import (
	"iter"
	"math"

	"github.com/kubeloupe/kubeloupe/inspect/store"
)

// reach is the time of a run's records; it is open for those that have not ended.
type reach struct{ from, to int64 }

// meets reports whether two reaches overlap.
func (r reach) meets(o reach) bool { return r.from <= o.to && o.from <= r.to }

// reachBlock is the number of consecutive runs that are skipped at once if none of them overlaps.
const reachBlock = 64

// reaches are the times of runs, in their order, and of blocks of consecutive runs.
type reaches struct{ runs, blocks []reach }

func reachesOf(runs []*store.PodRun) (all reaches) {
	for i, l := range runs {
		r := reach{l.Times.From, l.Times.Last}
		if l.Continues() {
			r.to = math.MaxInt64
		}
		if i%reachBlock == 0 {
			all.blocks = append(all.blocks, r)
		}
		b := &all.blocks[i/reachBlock]
		b.from, b.to = min(b.from, r.from), max(b.to, r.to)
		all.runs = append(all.runs, r)
	}
	return all
}

// within yields the indices of the runs that overlap a time, in order.
func (a *reaches) within(from, to int64) iter.Seq[int] {
	at := reach{from, to}
	return func(yield func(int) bool) {
		for b, block := range a.blocks {
			if !block.meets(at) {
				continue
			}
			for i := b * reachBlock; i < min((b+1)*reachBlock, len(a.runs)); i++ {
				if a.runs[i].meets(at) && !yield(i) {
					return
				}
			}
		}
	}
}
