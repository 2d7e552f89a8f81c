package backlog

import (
	"container/list"
	"context"
	"sync"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
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

	last  *store.Item
	bytes int    // what is kept takes about that: what was counted last, and all that came since
	lost  uint64 // records for which there was no room, but for those of starts
	holes []Hole
	kept  *store.Store // what explains pods
	pods  map[trace.Pod]*pod
	heard *list.List // the pods, the least recently heard of first
	gone  []*pod     // in the order in which they went
	swept int64      // when sweep looked last

	node      node
	api       api
	calls     ring.Ring[*store.Item]
	decisions ring.Ring[*store.Item]
	lines     ring.Ring[*store.Item]
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
		opt: opt,
		kept: store.New(store.Policy{ // of a run one record more than explain it, by which readers see that there were more
			First: opt.PerRun / 2, Newest: opt.PerRun - opt.PerRun/2 + 1, Earlier: opt.PerRun, Node: opt.Node, Open: opt.Open, Traces: 4 * opt.Pods, Patches: true,
		}),
		pods: map[trace.Pod]*pod{}, heard: list.New(),
		node: newNode(), api: newAPI(opt.Calls),
		calls: ring.New[*store.Item](opt.Calls), decisions: ring.New[*store.Item](opt.Decisions), lines: ring.New[*store.Item](opt.Lines),
		loops: newGroups(opt.Loops, maxCaused), passes: newGroups(opt.Passes, maxVerdicts),
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
	kept, _ := k.kept.Apply(r)
	it := kept.Whole()
	k.bytes += kept.Bytes()
	k.seq, k.last = r.Seq, it
	var p *pod
	if !r.Pod.IsZero() {
		p = k.podFor(r)
	}
	if r.Edge != trace.EdgeEnd && r.Parent != 0 {
		k.loops.child(it)
	}
	k.foldNode(&kept.Record, it)
	if p != nil {
		k.foldPod(p, &kept.Record, it)
	}
	k.sweep(r.Time)
	if k.bytes > k.opt.Bytes {
		k.makeBytes()
	}
}
