package store

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Store is what is kept of a stream of records. Build it with New.
type Store struct {
	policy Policy
	runs   []*PodRun // oldest first
	stale  int       // runs that are forgotten
	over   int       // runs that are over
	byPod  map[trace.Pod]*PodRun
	latest *PodRun // that of the last record: the next is mostly of the same
	// byTrace finds whose a span of the runtime is that does not say.
	byTrace map[trace.TraceID]*PodRun
	open    pair.Table[begun]
	// node explains pods; notes are those of its records that explain what is far from them.
	node  window
	notes ring.Ring[*Item]
	// recent are the last records of all.
	recent ring.Ring[*trace.Record]
	// whole are the runs of which no record was lost since they began.
	whole []*PodRun
	// state is the agent's; agents counts how often it started; stops are when it stopped.
	state  trace.AgentState
	agents int
	stops  []int64
	// left are verdicts on directories of pods that are gone, by their UIDs.
	left  map[string]*Item
	last  int64
	came  uint64 // records
	size  int    // bytes of all records that came
	round uint16 // of counts
}

// New returns an empty store.
func New(p Policy) *Store {
	return &Store{
		policy: p, byPod: map[trace.Pod]*PodRun{}, byTrace: map[trace.TraceID]*PodRun{},
		open: pair.NewTable(p.Open, begun.ended, begun.doubted),
		node: newWindow(0, p.Node), notes: ring.New[*Item](p.Node), recent: ring.New[*trace.Record](p.Recent), left: map[string]*Item{},
	}
}

// Bounds of what is remembered. Anybody may have written a recording.
const (
	maxBack   = 64      // how many runs back a span of the runtime may be told late
	maxTraces = 256     // traces that lead to a run: it mostly has one
	maxStops  = 1 << 16 // how often the agent stopped
	maxLeft   = 1000    // pods whose directories could not be removed
)

// Apply takes a record, and returns it as it is kept, with the run that it belongs to: nil for the node, of which only what explains pods is
// kept. Records come in the order in which they were published, and have events.
func (s *Store) Apply(r *trace.Record) (*Item, *PodRun) {
	it, p := s.Take(r)
	s.Close(it)
	return it, p
}

// Take is Apply that leaves what the record ends open, for who watches it: Close has to be called before the next record.
func (s *Store) Take(r *trace.Record) (*Item, *PodRun) {
	it := s.keep(r)
	s.last, s.came = max(s.last, r.Time), s.came+1
	s.pair(it)
	p := s.runOf(it)
	switch {
	case p == nil:
		s.ofNode(it)
	case it == p.next: // it belongs to the run that comes
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

// remember keeps a record as it came: in the place that it has already, unless that is not the same.
func (s *Store) remember(r *trace.Record, it *Item) {
	as := &it.Record
	if it.Event != r.Event || it.Time != r.Time || it.Pod != r.Pod {
		as = new(*r)
	}
	s.recent.Push(as)
}

// Recent returns how many of the last records there are, and the i-th of them, 0 being the oldest. It must not be changed.
func (s *Store) Recent() (n int, at func(i int) *trace.Record) { return s.recent.Len(), s.recent.At }

// ofNode takes a record that is about no pod by name.
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
	}
}

// agent notes that the agent starts or stops.
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

// Lost says that n records are missing here.
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
	s.whole = s.whole[:0] // what was lost once is: a second time adds nothing
}

// Runs returns all runs that are kept, the oldest first.
func (s *Store) Runs() []*PodRun {
	if s.stale > 0 {
		s.runs, s.stale = slices.DeleteFunc(s.runs, gone), 0
	}
	return s.runs
}

func gone(p *PodRun) bool { return p.forgotten }

// Run returns the latest run of a pod, nil when none is kept.
func (s *Store) Run(pod trace.Pod) *PodRun { return s.byPod[pod] }

// Pods is how many pods have runs that are kept.
func (s *Store) Pods() int { return len(s.byPod) }

// Last is when the newest record was made; zero before the first.
func (s *Store) Last() time.Time {
	if s.last == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.last)
}

// Came is how many records came.
func (s *Store) Came() uint64 { return s.came }

// Node calls f for what the node did from one time to another, as [PodRun.Between], until f is false; then it is false, too.
func (s *Store) Node(from, to int64, f func(*Item) bool) bool { return s.node.between(from, to, f) }

// Notes calls f for each verdict and each figure of the node made in [from, to], in order, until f is false; then it is false, too.
func (s *Store) Notes(from, to int64, f func(*Item) bool) bool {
	return within(s.notes.Len(), s.notes.At, from, to, f)
}

// Left is the last verdict on the directory of a pod that no longer exists, nil when there is none: it comes after the pod's run.
func (s *Store) Left(uid string) *Item { return s.left[uid] }

// Open is how many spans have begun and not ended.
func (s *Store) Open() int { return s.open.Len() }

// IsOpen reports whether a span has begun and not ended.
func (s *Store) IsOpen(id trace.SpanID) bool { return s.open.Has(id) }
