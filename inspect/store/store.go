package store

import (
	"math"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Store is what is kept of a stream of records. Build it with New.
//
// Many fields: one for each way in which a record is found again.
type Store struct {
	policy Policy
	runs   []*PodRun // oldest first
	stale  int       // runs that are forgotten
	over   int       // runs that are over
	byPod  map[trace.Pod]*PodRun
	latest *PodRun // run of the last record: the next record is usually of the same run
	// byTrace finds the pod of a span of the runtime that has none.
	byTrace map[trace.TraceID]*PodRun
	open    pair.Table[begun]
	// node are records that explain pods; notes are those that explain distant records, and late the figures about longer
	// than evidence.LookAhead.
	node  window
	notes ring.Ring[*Item]
	late  ring.Ring[*Item]
	// recent are the last records of all.
	recent ring.Ring[*trace.Record]
	// whole are the runs without lost records since they began.
	whole []*PodRun
	// state is the agent's state; agents counts its starts; stops are the times of its stops.
	state  trace.AgentState
	agents int
	stops  []int64
	// left are verdicts on directories of pods that are gone, by UID.
	left  map[string]*Item
	last  int64
	came  uint64 // number of records
	size  int    // size of all records so far
	round uint16 // number of counts
}

// New returns an empty store.
func New(p Policy) *Store {
	return &Store{
		policy: p, byPod: map[trace.Pod]*PodRun{}, byTrace: map[trace.TraceID]*PodRun{},
		open: pair.NewTable(p.Open, begun.ended, begun.doubted),
		node: newWindow(0, p.Node), notes: ring.New[*Item](p.Node), late: ring.New[*Item](p.Node), recent: ring.New[*trace.Record](p.Recent), left: map[string]*Item{},
	}
}

// Limits of what is kept. Anybody may have written a recording.
const (
	maxBack   = 64      // how many runs back a late span of the runtime is assigned
	maxTraces = 256     // traces of a run: it usually has one
	maxStops  = 1 << 16 // stops of the agent
	maxLeft   = 1000    // pods whose directories could not be removed
)

// Apply adds a record, and returns it as it is kept, with its run: nil for the node, of which only records that explain
// pods are kept. Records must be in the order in which they were published, and have events.
func (s *Store) Apply(r *trace.Record) (*Item, *PodRun) {
	it, p := s.Take(r)
	s.Close(it)
	return it, p
}

// Take is Apply without closing what the record ends, for those who watch it: Close must be called before the next
// record.
func (s *Store) Take(r *trace.Record) (*Item, *PodRun) {
	it := s.keep(r)
	s.last, s.came = max(s.last, r.Time), s.came+1
	s.pair(it)
	p := s.runOf(it)
	switch {
	case p == nil:
		s.ofNode(it)
	case it == p.next: // it belongs to the next run
	default:
		p.add(it)
		if p.next != nil && p.Times.Gone != 0 {
			s.continues(p)
		}
	}
	if s.policy.Recent > 0 {
		s.remember(r, it)
	}
	s.open.Sweep(r.Time)
	return it, p
}

// remember keeps a record unchanged: the item's own, if it is the same.
func (s *Store) remember(r *trace.Record, it *Item) {
	as := &it.Record
	if it.Event != r.Event || it.Time != r.Time || it.Pod != r.Pod {
		as = new(*r)
	}
	s.recent.Push(as)
}

// Recent returns the number of the last records, and the i-th of them, 0 being the oldest. It must not be changed.
func (s *Store) Recent() (n int, at func(i int) *trace.Record) { return s.recent.Len(), s.recent.At }

// ofNode adds a record without a named pod.
func (s *Store) ofNode(it *Item) {
	switch e := it.Event.(type) {
	case *trace.ClockStepped:
		s.stepped(it.Time, e)
	case *trace.Agent:
		s.agent(it.Time, e)
	case *trace.Decision:
		if e.By == trace.ByOrphans && e.Orphan != "" && (s.left[e.Orphan] != nil || len(s.left) < maxLeft) {
			s.left[e.Orphan] = it
		}
	}
	if it.Pod.Name == "" && evidence.OfNode(it.Event) {
		s.node.add(it)
		if notable(it.Event) {
			s.notes.Push(it)
		}
		if evidence.Figures(it.Event) && it.Time-evidence.Since(&it.Record) > int64(evidence.LookAhead) {
			s.late.Push(it)
		}
	}
}

// agent records starts and stops of the agent.
func (s *Store) agent(at int64, e *trace.Agent) {
	was := s.state
	switch s.state = e.State; {
	case e.State == trace.AgentStarting && was != trace.AgentStarting:
		s.agents++
		s.open.Clear()
	case e.State != trace.AgentStopping:
	case len(s.stops) == maxStops: // the newest counts
		s.stops[maxStops-1] = at
	default:
		s.stops = append(s.stops, at)
	}
}

// Lost reports that n records are missing here.
func (s *Store) Lost(n uint64) {
	if n == 0 {
		return
	}
	s.open.Lost()
	for _, p := range s.whole {
		if !p.Over() {
			p.lose()
		}
	}
	s.whole = s.whole[:0] // a run with lost records is incomplete: a second loss changes nothing
}

// Runs returns all kept runs, oldest first.
func (s *Store) Runs() []*PodRun {
	if s.stale > 0 {
		s.runs, s.stale = slices.DeleteFunc(s.runs, gone), 0
	}
	return s.runs
}

func gone(p *PodRun) bool { return p.forgotten }

// Run returns the latest run of a pod, nil if none is kept.
func (s *Store) Run(pod trace.Pod) *PodRun { return s.byPod[pod] }

// Pods returns the number of pods with kept runs.
func (s *Store) Pods() int { return len(s.byPod) }

// Last returns the time of the newest record; zero before the first.
func (s *Store) Last() time.Time {
	if s.last == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.last)
}

// Came returns the number of records so far.
func (s *Store) Came() uint64 { return s.came }

// Node calls f for the node's records from one time to another, as [PodRun.Between], until f returns false; then it
// returns false, too.
func (s *Store) Node(from, to int64, f func(*Item) bool) bool { return s.node.between(from, to, f) }

// NodeFrom returns since when all of the node's records are kept, except for those that explain nothing.
func (s *Store) NodeFrom() int64 {
	switch {
	case s.node.dropped == 0:
		return math.MinInt64
	case s.node.tail.Len() == 0:
		return math.MaxInt64
	}
	return s.node.tail.At(0).Time
}

// Notes calls f for each verdict and each figure of the node in [from, to], in order, until f returns false; then it
// returns false, too.
func (s *Store) Notes(from, to int64, f func(*Item) bool) bool {
	return within(s.notes.Len(), s.notes.At, from, to, f)
}

// Late is Notes for the figures about longer than evidence.LookAhead: those of an agent that was starved.
func (s *Store) Late(from, to int64, f func(*Item) bool) bool {
	return within(s.late.Len(), s.late.At, from, to, f)
}

// Left returns the last verdict on the directory of a pod that no longer exists, nil if there is none: it comes after
// the pod's run.
func (s *Store) Left(uid string) *Item { return s.left[uid] }

// Open returns the number of begins without ends.
func (s *Store) Open() int { return s.open.Len() }

// IsOpen reports whether a span has begun and not ended.
func (s *Store) IsOpen(id trace.SpanID) bool { return s.open.Has(id) }
