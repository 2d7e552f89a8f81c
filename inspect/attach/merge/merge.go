package merge

import (
	"cmp"
	"math"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/order"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// DefaultWindow is how long a record waits for what others tell of the same, by the records' times.
	DefaultWindow = 2 * time.Second
	// maxWaiting bounds the records that wait.
	maxWaiting = 1 << 15
	// Inputs is how many inputs there may be.
	Inputs = 64
)

// Options says how to merge.
type Options struct {
	// Window is how long a record waits for what others tell of the same, by the records' times; zero is [DefaultWindow].
	Window time.Duration
}

// Merger makes one stream of several. Use [New]. It is for one goroutine.
type Merger struct {
	out    order.Queue[*item]
	inputs []*Input
	pods   pods
	same   same
	views  views
	polls  polls
	found  map[string]trace.Record // that containers ended, by the kubelet alone
	made   trace.SpanID            // spans that are the merger's own
	parts  []trace.Record          // of what has ended, which come next
	report Report
	seq    uint64
	gaps   uint64
}

// Input is what one observer tells.
type Input struct {
	m      *Merger
	n      int
	until  int64
	closed bool
}

// item is a record that waits.
type item struct {
	rec   trace.Record
	from  *Input
	lost  uint64
	thing *thing
	gone  bool // another record tells the same
}

// New returns a merger without inputs.
func New(o Options) *Merger {
	m := &Merger{pods: newPods(), same: newSame(), found: map[string]trace.Record{}}
	m.out.Hold, m.out.Most = cmp.Or(o.Window, DefaultWindow), maxWaiting
	m.out.Size = func(it *item) int { return it.rec.Size() }
	return m
}

// Input adds an input; nil where there are too many. An input whose time does not advance (see [Input.Until]) holds back all others, up to
// 32,768 records and 16 MiB; then the earliest come out.
func (m *Merger) Input() *Input {
	if len(m.inputs) == Inputs {
		return nil
	}
	in := &Input{m: m, n: len(m.inputs) + 1}
	m.inputs = append(m.inputs, in)
	return in
}

// Put takes a record in, about in the order of its time, and cuts it to the size that published ones have. The merger changes its ids and its
// pod, not its event.
func (in *Input) Put(r trace.Record) {
	if r.Event == nil || in.closed {
		return
	}
	r.Limit()
	in.until = max(in.until, r.Time)
	r.Span, r.Parent = in.own(r.Span), in.own(r.Parent)
	in.m.pods.take(&r)
	in.m.poll(&r)
	in.m.pulls(&r)
	it := &item{rec: r, from: in, lost: in.m.gaps}
	in.m.gaps = 0
	in.m.match(it)
	if !it.gone {
		in.m.out.Add(dueAt(&it.rec), it)
	} else {
		in.m.gaps += it.lost
	}
}

// dueAt is the time with which a record waits. That of an object can be its creation, in whole seconds: then others may know up to a second later
// when the kubelet saw the pod.
func dueAt(r *trace.Record) int64 {
	if _, ok := r.Event.(*trace.Milestone); ok && (r.Observer == trace.ObserverKubeletAPI || r.Observer == trace.ObserverAPIServer) {
		return r.Time + int64(r.Precision.Duration())
	}
	return r.Time
}

// own makes an input's span ids its own: folds of logs count from 1. Random ids stay.
func (in *Input) own(id trace.SpanID) trace.SpanID {
	if id == 0 || id >= 1<<48 {
		return id
	}
	return id | trace.SpanID(in.n)<<48
}

// Lost says that n records of the input are missing here.
func (in *Input) Lost(n uint64) { in.m.gaps += n }

// Until says that no record of the input will come that is older than t, in Unix nanoseconds.
func (in *Input) Until(t int64) { in.until = max(in.until, t) }

// Close says that nothing more will come.
func (in *Input) Close() { in.closed = true }

// Next returns the next record that is due, and how many are known to be missing before it.
func (m *Merger) Next() (r trace.Record, lost uint64, ok bool) {
	until, open := int64(math.MaxInt64), false
	for _, in := range m.inputs {
		if !in.closed {
			until, open = min(until, in.until), true
		}
	}
	if m.out.Last = 0; open {
		m.out.Last = until
	}
	m.viewed()
	for {
		if len(m.parts) > 0 {
			r, m.parts = m.parts[0], m.parts[1:]
			m.seq++
			r.Seq = m.seq
			return r, 0, true
		}
		it, ok := m.out.Next(!open)
		if !ok {
			return r, 0, false
		}
		if it.gone || m.isPart(&it.rec) {
			m.gaps += it.lost
			continue
		}
		r = it.rec
		if isView(&r) && !m.viewDue(it, &r) {
			m.gaps += it.lost
			continue
		}
		m.seq++
		r.Seq = m.seq
		m.finish(it, &r)
		m.afterStart(it, &r)
		m.place(&r)
		m.provided(&r)
		return r, it.lost, true
	}
}

// Gaps returns how many records are missing after the last one, once.
func (m *Merger) Gaps() uint64 {
	n := m.gaps
	m.gaps = 0
	return n
}

// Report returns what was merged so far.
func (m *Merger) Report() Report { return m.report }
