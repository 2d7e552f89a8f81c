package backlog

import (
	"time"
)

// maxHoles is the maximum number of separate holes.
const maxHoles = 16

// Hole is a gap: records are missing here.
type Hole struct {
	After uint64 // the sequence number of the last record before it
	Lost  uint64
}

// hole records that n records are missing after the last one.
func (k *Store) hole(n uint64) {
	if len(k.holes) == maxHoles {
		k.holes[1].Lost += k.holes[0].Lost
		k.holes = k.holes[1:]
	}
	k.holes = append(k.holes, Hole{After: k.seq, Lost: n})
	k.kept.Lost(n)
}

// sweep drops, once a minute in the stream's time, pods that have been gone or in doubt for too long.
func (k *Store) sweep(now int64) {
	if now-k.swept < int64(time.Minute) {
		return
	}
	k.swept = now
	k.kept.Sweep(now)
	for len(k.gone) > 0 && now-k.gone[0].goneAt > int64(k.opt.GoneFor) {
		k.drop(k.gone[0])
	}
	for _, p := range k.pods {
		if p.inPassing() && now-p.last.Latest().Time > int64(k.opt.GoneFor) {
			k.drop(p)
		}
	}
}
