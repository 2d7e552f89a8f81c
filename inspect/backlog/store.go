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
	// Flush makes Next return what is available. It is called while a reader waits for records: the source may be lazy.
	Flush()
}

// Store keeps the backlog of one stream. It is safe for concurrent use.
//
// Many fields: one for each kind of record that a late reader needs about a node.
type Store struct {
	opt Options

	mu    sync.Mutex
	seq   uint64        // of the last record folded
	moved chan struct{} // closed when seq changes; nil while nobody waits for it
	from  Source        // while Run reads it
	ended bool          // Run has returned

	last  *store.Item
	bytes int    // the approximate size of what is kept: as measured last, plus all later records
	lost  uint64 // records dropped because of the limits, except those of starts
	holes []Hole
	kept  *store.Store // the records that explain pods
	pods  map[trace.Pod]*pod
	heard *list.List // the pods, the least recently mentioned first
	gone  []*pod     // in the order of their removal
	swept int64      // the time of the last sweep

	node      node
	api       api
	calls     ring.Ring[*store.Item]
	decisions ring.Ring[*store.Item]
	lines     ring.Ring[*store.Item]
	alarms    ring.Ring[*store.Item] // warnings and errors, which other lines must not displace
	loops     groups
	passes    groups
}

// Limits on the effects kept for a loop iteration and the verdicts kept for a pass.
const (
	maxCaused   = 32
	maxVerdicts = 500
)

// New returns an empty store.
func New(opt Options) *Store {
	opt = opt.withDefaults()
	return &Store{
		opt: opt,
		kept: store.New(store.Policy{ // one more record for a run than explain it: so readers see that there were more
			First: opt.PerRun / 2, Newest: opt.PerRun - opt.PerRun/2 + 1, Earlier: opt.PerRun, Node: opt.Node, Open: opt.Open, Traces: 4 * opt.Pods, Patches: true,
		}),
		pods: map[trace.Pod]*pod{}, heard: list.New(),
		node: newNode(), api: newAPI(opt.Calls),
		calls: ring.New[*store.Item](opt.Calls), decisions: ring.New[*store.Item](opt.Decisions), lines: ring.New[*store.Item](opt.Lines), alarms: ring.New[*store.Item](opt.Lines),
		loops: newGroups(opt.Loops, maxCaused), passes: newGroups(opt.Passes, maxVerdicts),
	}
}

// Run folds the source's records until ctx is done or the source ends, which is no error.
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

// reads sets the source. If a reader waits already, it flushes the source; without a source the wait ends.
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

// Apply folds records, with the number of records lost before them. Their events must not change afterwards.
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
