package session

import (
	"cmp"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Defaults of Options.
const (
	DefaultRuns   = 20_000
	DefaultPerRun = evidence.PerRun
	DefaultNode   = 1 << 17
	DefaultBytes  = 512 << 20
	DefaultOthers = 10_000_000
)

// Options bound what is kept.
type Options struct {
	// Runs is how many runs; of more, the oldest that is over goes first.
	Runs int
	// PerRun is how many records of a run: half of them the first, half the newest. What has not ended, milestones and the last
	// status are kept besides.
	PerRun int
	// Node is how many records about the node itself: the newest.
	Node int
	// Bytes is how much all records may have taken in memory; from then on records are kept with short texts and lists. Anybody may have
	// written a recording.
	Bytes int
	// Others is about how many records of the node and of other runs all cases of [Session.Cases] have together.
	Others int
}

// Session is a stream of records, folded.
type Session struct {
	*store.Store
	others int
	// reaches are the runs' times, in their order, as of so many records; made when a case asks.
	reaches reaches
	asOf    uint64
}

// New returns a session without records.
func New(opt Options) *Session {
	perRun := cmp.Or(opt.PerRun, DefaultPerRun)
	s := Of(store.New(store.Policy{
		Runs: cmp.Or(opt.Runs, DefaultRuns), First: perRun / 2, Newest: perRun - perRun/2, Node: cmp.Or(opt.Node, DefaultNode),
		Open: maxOpen, Traces: maxTraces, Short: cmp.Or(opt.Bytes, DefaultBytes), Straight: true,
	}))
	s.others = cmp.Or(opt.Others, DefaultOthers)
	return s
}

// Bounds of what else is kept. Anybody may have written a recording.
const (
	maxOpen   = 1 << 17
	maxTraces = 1 << 18
)

// Of returns the session of a store that has its times straight; whoever has the store feeds it.
func Of(s *store.Store) *Session { return &Session{Store: s, others: DefaultOthers} }

// Apply folds a record in. Records come in the order in which they were published.
func (s *Session) Apply(r *trace.Record) {
	if r.Event != nil {
		s.Store.Apply(r)
	}
}
