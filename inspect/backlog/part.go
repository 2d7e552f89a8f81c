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

// Part is what was kept: a part of the stream, in its order.
type Part struct {
	Records []trace.Record
	// Holes are where records were lost on the way to the store, or for want of room, in order.
	Holes []Hole
	// Seq is the last record that was folded, whether kept or not: what comes after it is news.
	Seq uint64
}

// All yields the records, each with how many are missing before it.
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

// ErrEnded is returned by Backlog when Run has ended before the record came for which it waits.
var ErrEnded = errors.New("backlog: the stream has ended")

// Backlog returns what is kept once the record with the number seq was folded, for which it waits. It is one that was published
// already; 0 asks for what is kept at this moment, however old that is.
func (k *Store) Backlog(ctx context.Context, seq uint64) (Part, error) {
	return k.await(ctx, seq, needEvidence)
}

// Picture is Backlog without what only explains what became of pods after their starts: the node as it is.
func (k *Store) Picture(ctx context.Context, seq uint64) (Part, error) {
	return k.await(ctx, seq, needPast)
}

// await waits for a record, and returns what is needed so much or more.
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

// take returns what is kept, or what closes when there is more; nil when there never will be.
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

// records returns copies of the records that are needed so much or more, in order. What is about pods that were dropped is left out: it
// would make them appear again.
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
