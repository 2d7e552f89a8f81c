package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// batch is the maximum number of records per read from the bus.
const batch = 256

// batchPause is how long records are collected for a client that takes them in batches.
const batchPause = 50 * time.Millisecond

// events streams records. Between the backlog and the following records, none is missing and none is repeated.
func (c *client) events(ctx context.Context, opt EventsOptions) error {
	stopping := ctx
	if opt.Follow { // otherwise the client may close its writing side, as programs in a pipe do
		var cancel context.CancelFunc
		ctx, cancel = c.watch(ctx)
		defer cancel()
	}
	f := &feed{w: c.w, opt: opt}
	cursor := c.cfg.Bus.Subscribe(trace.FromNow)
	defer cursor.Close()
	if opt.Backlog {
		if err := c.backlog(ctx, f); err != nil {
			return err
		}
	}
	if !opt.Follow {
		return c.end(endDone)
	}
	buf := make([]trace.Record, 0, batch)
	for {
		if opt.Batch && cursor.Wait(ctx) == nil {
			pause(ctx)
		}
		recs, lost, err := cursor.Next(ctx, buf) // available records before ctx's error
		switch {
		case err == nil:
			if f.live(recs, lost) != nil {
				return errGone
			}
		case stopping.Err() != nil:
			return c.end(endStop)
		default:
			return errGone
		}
	}
}

// pause ends early with ctx.
func pause(ctx context.Context) {
	t := time.NewTimer(batchPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (c *client) backlog(ctx context.Context, f *feed) error {
	if c.cfg.Backlog == nil {
		return errors.New("this agent keeps no backlog: request follow only")
	}
	ctx, cancel := context.WithTimeout(ctx, backlogTime)
	defer cancel()
	b, err := c.cfg.Backlog.Backlog(ctx, c.cfg.Bus.Seq())
	if err != nil {
		return err
	}
	for r, lost := range b.All() {
		if f.put(&r, lost) != nil {
			return errGone
		}
	}
	f.seq = b.Seq
	if f.w.send(answer{Live: &b.Seq}) != nil {
		return errGone
	}
	return nil
}

// feed writes records to a client.
type feed struct {
	w    *lineWriter
	opt  EventsOptions
	seq  uint64 // the last handled record; 0 if unknown
	lost uint64 // not reported yet
}

// live writes the bus's records, except those that were in the backlog. Losses are counted by sequence numbers, because
// some of the cursor's lost records may have been in the backlog.
func (f *feed) live(recs []trace.Record, lost uint64) error {
	for i := range recs {
		r := &recs[i]
		if r.Seq <= f.seq {
			continue
		}
		switch {
		case f.seq != 0:
			lost = r.Seq - f.seq - 1
		case i > 0:
			lost = 0
		}
		f.seq = r.Seq
		if err := f.put(r, lost); err != nil {
			return err
		}
	}
	return f.w.bw.Flush()
}

// put writes a record if it is selected; a loss is reported in any case.
func (f *feed) put(r *trace.Record, lost uint64) error {
	if f.lost += lost; f.lost > 0 {
		if err := f.w.put(answer{Lost: f.lost}); err != nil {
			return err
		}
		f.lost = 0
	}
	if !f.wants(r) {
		return nil
	}
	ok, err := f.w.record(r)
	if !ok {
		f.lost++ // reported before the next one
	}
	return err
}

func (f *feed) wants(r *trace.Record) bool {
	return (f.opt.Pod == "" || r.Pod.String() == f.opt.Pod) &&
		(len(f.opt.Kinds) == 0 || slices.Contains(f.opt.Kinds, r.Event.Kind().String()))
}
