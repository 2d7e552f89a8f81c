package tuitest

import (
	"context"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Player is a source that plays records in their own time, moved to now.
type Player struct {
	recs  []trace.Record
	shift time.Duration
	next  int
}

// Play returns a source that began ahead ago: records from that time are delivered immediately.
func Play(recs []trace.Record, ahead time.Duration) *Player {
	p := &Player{recs: recs}
	if len(recs) > 0 {
		p.shift = time.Since(recs[0].At()) - ahead
	}
	return p
}

// Next implements tui.Source.
func (p *Player) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs = buf[:0]
	for p.next < len(p.recs) && len(recs) < cap(buf) {
		r := p.recs[p.next]
		wait := time.Until(r.At().Add(p.shift))
		if wait > 0 && len(recs) > 0 {
			return recs, 0, nil
		}
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			}
		}
		r.Time += int64(p.shift)
		recs = append(recs, r)
		p.next++
	}
	if len(recs) == 0 {
		return nil, 0, io.EOF
	}
	return recs, 0, nil
}
