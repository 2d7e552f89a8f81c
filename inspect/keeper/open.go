package keeper

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxHoles is how many holes are told apart.
const maxHoles = 16

// doubtLimit is how long something is told as open whose end may have been lost.
const doubtLimit = 10 * time.Minute

// Hole says that records are missing.
type Hole struct {
	After uint64 // the sequence number of the last record before it
	Lost  uint64
}

// hole notes that n records are missing after the last one.
func (k *Keeper) hole(n uint64) {
	if len(k.holes) == maxHoles {
		k.holes[1].Lost += k.holes[0].Lost
		k.holes = k.holes[1:]
	}
	k.holes = append(k.holes, Hole{After: k.seq, Lost: n})
	k.doubts = true
}

// doubtful reports whether the end of something open may have been lost.
func (k *Keeper) doubtful(it *item) bool {
	return len(k.holes) > 0 && it.first.Seq <= k.holes[len(k.holes)-1].After
}

// close forgets that a span is open, and what below it has ended unseen.
func (k *Keeper) close(id trace.SpanID) {
	delete(k.open, id)
	below := k.below[id]
	delete(k.below, id)
	if !k.doubts {
		return
	}
	for _, child := range below {
		if it := k.open[child]; it != nil && it.first.Parent == id && k.doubtful(it) {
			k.close(child)
		}
	}
}

// begun is a span that was open at least for a while.
type begun struct {
	span, parent trace.SpanID
	seq          uint64
}

// begin notes that an item is open. Where there are too many, the oldest makes room.
func (k *Keeper) begin(it *item) {
	r := it.first
	for len(k.open) >= k.opt.Open {
		k.closeOldest()
	}
	k.open[r.Span] = it
	if k.came++; k.came > 2*k.opt.Open { // half of them have ended
		k.begun = slices.DeleteFunc(k.begun, func(b begun) bool { return !k.isOpen(b) })
		k.came = len(k.begun)
		clear(k.below)
		for _, b := range k.begun {
			k.below[b.parent] = append(k.below[b.parent], b.span)
		}
	}
	k.begun = append(k.begun, begun{r.Span, r.Parent, r.Seq})
	k.below[r.Parent] = append(k.below[r.Parent], r.Span)
}

func (k *Keeper) isOpen(b begun) bool {
	it := k.open[b.span]
	return it != nil && it.first.Seq == b.seq
}

func (k *Keeper) closeOldest() {
	for len(k.begun) > 0 {
		oldest := k.begun[0]
		k.begun = k.begun[1:]
		if k.isOpen(oldest) {
			delete(k.open, oldest.span)
			return
		}
	}
	clear(k.open) // all that is open has begun: it is empty by now
}

// sweep drops, once a minute of the stream's time, what has been gone or in doubt for too long.
func (k *Keeper) sweep(now int64) {
	if now-k.swept < int64(time.Minute) {
		return
	}
	k.swept = now
	k.doubts = false
	for id, it := range k.open {
		if !k.doubtful(it) {
			continue
		}
		if now-it.first.Time > int64(doubtLimit) {
			delete(k.open, id)
		} else {
			k.doubts = true
		}
	}
	for len(k.gone) > 0 && now-k.gone[0].goneAt > int64(k.opt.GoneFor) {
		k.drop(k.gone[0])
	}
	for _, p := range k.pods {
		if p.inPassing() && now-p.last.last().Time > int64(k.opt.GoneFor) {
			k.drop(p)
		}
	}
}
