package session

import (
	"iter"
	"math"

	"github.com/kubeloupe/kubeloupe/inspect/store"
)

// reach is the time that a run has records of; those that have not ended reach on.
type reach struct{ from, to int64 }

// meets says whether two reaches have a time in common.
func (r reach) meets(o reach) bool { return r.from <= o.to && o.from <= r.to }

// reachBlock is how many runs in a row are passed over at once where none of them meets.
const reachBlock = 64

// reaches are the times of runs, in their order, and of each block of them in a row.
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

// within yields the indices of the runs that meet a time, in order.
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
