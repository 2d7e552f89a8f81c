package backlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Part is what was kept: a part of the stream, in order.
type Part struct {
	Records []trace.Record
	// Holes are where records were lost, on the way to the store or because of its limits, in order.
	Holes []Hole
	// Seq is the last record that was folded, kept or not: later records are new.
	Seq uint64
}

// All yields the records, each with the number of records missing before it.
func (b *Part) All() iter.Seq2[trace.Record, uint64] {
	return func(yield func(trace.Record, uint64) bool) {
		holes := b.Holes
		for _, r := range b.Records {
			var lost uint64
			for len(holes) > 0 && holes[0].After < r.Seq {
				lost += holes[0].Lost
				holes = holes[1:]
			}
			if !yield(r, lost) {
				return
			}
		}
	}
}

// ErrEnded is returned by Backlog if Run ends before the requested record arrives.
var ErrEnded = errors.New("backlog: the stream has ended")

// Backlog waits until the record with the number seq, which must be published already, is folded, and returns what is
// kept then. 0 means what is kept now, however old that is.
func (k *Store) Backlog(ctx context.Context, seq uint64) (Part, error) {
	return k.await(ctx, seq, needEvidence)
}

// Picture is Backlog without the records that only explain what happened to pods after their starts: the node as it is.
func (k *Store) Picture(ctx context.Context, seq uint64) (Part, error) {
	return k.await(ctx, seq, needPast)
}

// await waits for a record, and returns what is needed at least that much.
func (k *Store) await(ctx context.Context, seq uint64, least store.Need) (Part, error) {
	for {
		b, moved, ok := k.take(seq, least)
		switch {
		case ok:
			return b, nil
		case moved == nil:
			return Part{}, fmt.Errorf("wait for record %d to be kept: %w", seq, ErrEnded)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return Part{}, fmt.Errorf("wait for record %d to be kept: %w", seq, ctx.Err())
		}
	}
}

// take returns what is kept, or a channel that is closed when there is more; a nil channel if there will be no more.
func (k *Store) take(seq uint64, least store.Need) (b Part, moved <-chan struct{}, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seq < seq {
		if k.ended {
			return Part{}, nil, false
		}
		if k.moved == nil {
			k.moved = make(chan struct{})
		}
		if k.from != nil {
			k.from.Flush()
		}
		return Part{}, k.moved, false
	}
	return Part{Records: k.records(least), Holes: k.told(), Seq: k.seq}, nil, true
}

// records returns copies of the records that are needed at least that much, in order, without those about dropped pods,
// which would make these appear again.
func (k *Store) records(least store.Need) []trace.Record {
	var recs []*trace.Record
	items, _, _ := k.kept.Count(k.walk)
	for _, it := range items {
		if it.Need() > least {
			continue
		}
		recs = append(recs, &it.Record)
		if end := it.End(); end != nil {
			recs = append(recs, &end.Record)
		}
	}
	slices.SortFunc(recs, func(a, b *trace.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	out := make([]trace.Record, 0, len(recs))
	for _, r := range recs {
		again := len(out) > 0 && out[len(out)-1].Seq == r.Seq
		if !again && (r.Pod.IsZero() || k.pods[r.Pod] != nil) {
			out = append(out, *r)
		}
	}
	return out
}
