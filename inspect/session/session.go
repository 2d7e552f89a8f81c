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

// Options limit what is kept.
type Options struct {
	// Runs is the number of runs; of more, the oldest finished one is removed first.
	Runs int
	// PerRun is the number of records of a run: half of them the first, half the newest. Begins without ends,
	// milestones and the last status are kept in addition.
	PerRun int
	// Node is the number of the newest records about the node itself.
	Node int
	// Bytes is the total size of all records from which on records are kept with short texts and lists. Anybody may
	// have written a recording.
	Bytes int
	// Others is the approximate number of records of the node and of other runs in all cases of [Session.Cases]
	// together.
	Others int
}

// Session is a folded stream of records.
type Session struct {
	*store.Store
	others int
	// reaches are the runs' times, in their order, as of that many records; computed when a case needs them.
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

// Limits of what else is kept. Anybody may have written a recording.
const (
	maxOpen   = 1 << 17
	maxTraces = 1 << 18
)

// Of returns the session of a store with Policy.Straight, which the store's owner feeds.
func Of(s *store.Store) *Session { return &Session{Store: s, others: DefaultOthers} }

// Apply adds a record. Records must be in the order in which they were published.
func (s *Session) Apply(r *trace.Record) {
	if r.Event != nil {
		s.Store.Apply(r)
	}
}
