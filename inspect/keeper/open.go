package keeper

import (
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
	if !k.doubts {
		return
	}
	for child, it := range k.open {
		if it.first.Parent == id && k.doubtful(it) {
			k.close(child)
		}
	}
}

func (k *Keeper) closeOldest() {
	var oldest *item
	for _, it := range k.open {
		if oldest == nil || it.first.Seq < oldest.first.Seq {
			oldest = it
		}
	}
	delete(k.open, oldest.first.Span)
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
		if p.inPassing() && now-p.last.Time > int64(k.opt.GoneFor) {
			k.drop(p)
		}
	}
}
