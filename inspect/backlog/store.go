package backlog

import (
	"container/list"
	"context"
	"sync"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Source is where records come from, as a trace.Cursor.
type Source interface {
	Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error)
	// Flush has Next return what is there. It is called while somebody waits for records: the source may be lazy.
	Flush()
}

// Store is what is kept of one stream. Safe for concurrent use.
//
// Many fields: one for each kind of record that a late reader needs of a node.
type Store struct {
	opt Options

	mu    sync.Mutex
	seq   uint64        // of the last record folded
	moved chan struct{} // closed when seq moves on; nil while nobody waits for that
	from  Source        // while Run reads it
	ended bool          // Run has returned

	last  *item
	bytes int    // what is kept takes about that: what was counted last, and all that came since
	round uint64 // of counts
	lost  uint64 // records for which there was no room, but for those of starts
	holes []Hole
	open  pair.Table[*item]
	pods  map[trace.Pod]*pod
	heard *list.List // the pods, the least recently heard of first
	gone  []*pod     // in the order in which they went
	swept int64      // when sweep looked last

	node      node
	api       api
	calls     ring.Ring[*item]
	decisions ring.Ring[*item]
	lines     ring.Ring[*item]
	around    ring.Ring[*item] // what of the node explains pods
	loops     groups
	passes    groups
}

// How many effects of a loop iteration and verdicts of a pass are kept.
const (
	maxCaused   = 32
	maxVerdicts = 500
)

// New returns a store that knows nothing yet.
func New(opt Options) *Store {
	opt = opt.withDefaults()
	return &Store{
		opt:  opt,
		open: pair.NewTable[*item](opt.Open, nil, nil), pods: map[trace.Pod]*pod{}, heard: list.New(),
		node: newNode(), api: newAPI(opt.Calls),
		calls: ring.New[*item](opt.Calls), decisions: ring.New[*item](opt.Decisions), lines: ring.New[*item](opt.Lines),
		around: ring.New[*item](opt.Node),
		loops:  newGroups(opt.Loops, maxCaused), passes: newGroups(opt.Passes, maxVerdicts),
	}
}

// Run folds what the source gives until ctx is done or the source ends, which is no error.
func (k *Store) Run(ctx context.Context, source Source) error {
	k.reads(source)
	defer k.reads(nil)
	buf := make([]trace.Record, 0, 256)
	for {
		recs, lost, err := source.Next(ctx, buf)
		if err != nil {
			return nil //nolint:nilerr // the source has ended, and there is nothing to keep any more
		}
		k.Apply(recs, lost)
	}
}

// reads says where records come from now. Who waits for one already has it hurry; when there is no source, he waits no longer.
func (k *Store) reads(source Source) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.from, k.ended = source, source == nil
	switch {
	case k.moved == nil:
	case source != nil:
		source.Flush()
	default:
		close(k.moved)
		k.moved = nil
	}
}

// Apply folds records, before which lost ones are missing. Their events must not be changed afterwards.
func (k *Store) Apply(recs []trace.Record, lost uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lost > 0 {
		k.hole(lost)
	}
	for i := range recs {
		if recs[i].Event != nil {
			k.fold(&recs[i])
		}
	}
	if k.moved != nil {
		close(k.moved)
		k.moved = nil
	}
}

func (k *Store) fold(r *trace.Record) {
	it := k.itemOf(r)
	k.seq, k.last = r.Seq, it
	var p *pod
	if !r.Pod.IsZero() {
		p = k.podFor(r)
	}
	if r.Edge != trace.EdgeEnd && r.Parent != 0 {
		k.loops.child(it)
	}
	k.foldNode(r, it)
	if p != nil {
		k.foldPod(p, r, it)
	}
	k.sweep(r.Time)
	if k.bytes > k.opt.Bytes {
		k.makeBytes()
	}
}

// itemOf returns what a record belongs to; what has begun stays open until its end.
func (k *Store) itemOf(r *trace.Record) *item {
	if r.Edge == trace.EdgeEnd {
		if it, open := k.open.Get(r.Span); open {
			it.end = slim(r)
			k.weigh(it, it.end)
			k.open.End(r.Span)
			return it
		}
	}
	it := &item{first: slim(r)}
	k.weigh(it, it.first)
	if r.Edge == trace.EdgeBegin {
		k.open.Begin(it.first, it)
	}
	return it
}
