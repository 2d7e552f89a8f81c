package containerdlog

import (
	"cmp"
	"container/list"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/order"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// DefaultHold is how long records are held back, by the time in the log: what a pod's last start means is known later.
	DefaultHold = 15 * time.Second
	// quiet is how long after its last container's start a pod counts as started.
	quiet = 10 * time.Second
	// stepBack is from which on a time that is earlier is another part of the log.
	stepBack = time.Minute

	maxHeld       = 1 << 14 // records that are held back
	maxPods       = 1 << 13
	maxSandboxes  = 32 // of a pod
	maxContainers = 256
	maxPending    = 1 << 12 // calls that have begun
)

// Options says how a fold works.
type Options struct {
	// Hold is how long records are held back, by the time in the log; zero is [DefaultHold]. A running log is followed with less: then a
	// few records come after later ones.
	Hold time.Duration
}

// Fold makes records of a runtime's log. Use [NewFold]. It is for one goroutine.
type Fold struct {
	out     order.Queue[*held]
	pods    map[string]*pod // by UID, and by namespace/name
	order   *list.List      // of *pod, the oldest first
	boxes   map[string]*pod // by the sandbox's id
	all     map[string]*container
	pending map[string]*call // by key
	begun   *list.List       // of *call, the oldest first
	// starting are those of which it is not known yet that they have started.
	starting map[*pod]bool
	pulls    []*call              // that ended a moment ago, without a pod
	shims    map[string]int64     // when the runtime connected to a sandbox's or container's shim
	asked    map[string]trace.Pod // for which pod an image is pulled, by the call
	fetched  int64                // when an image was there the last time
	last     int64
	live     bool // the log is followed
	// precision is that of the times in the log.
	precision trace.Precision
	checked   int64
	seq, ids  uint64
	gaps      uint64
	calls     uint64
}

// held is a record; its pod may be known later.
type held struct {
	rec   trace.Record
	owner *owner
	lost  uint64
}

// owner is whose something is; pod is nil while that is not known. above is the span that what has no parent is part of.
type owner struct {
	pod   *pod
	above trace.SpanID
}

// NewFold returns a fold of one runtime's log.
func NewFold(o Options) *Fold {
	f := &Fold{
		pods: map[string]*pod{}, order: list.New(), boxes: map[string]*pod{}, all: map[string]*container{},
		pending: map[string]*call{}, begun: list.New(), starting: map[*pod]bool{}, shims: map[string]int64{}, asked: map[string]trace.Pod{},
	}
	f.out.Hold, f.out.Most, f.live = cmp.Or(o.Hold, DefaultHold), maxHeld, o.Hold != 0
	f.out.Size = func(h *held) int { return h.rec.Size() }
	return f
}

// Until says that no line will come that is older than t, in Unix nanoseconds: a log that is followed has nothing new. What was held back
// becomes due.
func (f *Fold) Until(t int64) {
	if f.last == 0 {
		return
	}
	f.last = max(f.last, t)
	f.settle(t, false)
	f.out.Last = max(f.out.Last, t)
}

// Due is the time up to which records are out, but for a few that come late; 0 before the first line.
func (f *Fold) Due() int64 { return max(f.out.Last-int64(f.out.Hold), 0) }

// Calls returns how many begins and ends of calls were read.
func (f *Fold) Calls() uint64 { return f.calls }

// Apply takes a line in.
func (f *Fold) Apply(l *Line) {
	at := l.Time.UnixNano()
	if f.last != 0 && at < f.last-int64(stepBack) { // the clock was set back, or another part of the log follows
		f.Lost(1)
		f.setBack(at)
	}
	f.precision = trace.PrecisionOf(l.Precision)
	f.last, f.out.Last = max(f.last, at), max(f.out.Last, at)
	f.settle(at, false)
	f.details(l)
	t, ok := read(l)
	if !ok {
		if id, shim := strings.CutPrefix(l.Msg, "connecting to shim "); shim {
			if len(f.shims) >= maxPending {
				clear(f.shims)
			}
			f.shims[id] = at
		}
		f.other(l, at)
		return
	}
	f.calls++
	switch t.edge {
	case begins:
		f.begins(&t, at)
	case ends, fails, undone:
		f.ends(&t, at)
	case pulled:
		f.fetched = at
		if c := f.pending[t.key()]; c != nil {
			c.bytes = t.bytes
		}
	case exits:
		f.exited(&t)
	case left:
		if c := f.all[t.container]; c != nil {
			c.left = at
		}
	case asks:
		f.asks(&t, l)
	case named:
		f.learn(&t, at)
	case linking:
		f.links(&t, at)
	case unlinked:
		f.linked(f.pending[t.key()], at, true)
	}
}

// Lost says that n lines are missing: what has begun is not ended by what follows.
func (f *Fold) Lost(n uint64) {
	if n == 0 {
		return
	}
	clear(f.pending)
	f.begun.Init()
	clear(f.starting)
	f.pulls = nil
	f.gaps += n
}

// setBack is for a clock that was set back to t: what is later would be waited for until then.
func (f *Fold) setBack(t int64) {
	if f.out.Last = 0; f.live {
		f.out.Anew()
	}
	f.last, f.checked, f.fetched = 0, 0, 0
	clear(f.shims)
	for e := f.order.Front(); e != nil; e = e.Next() {
		if p, ok := e.Value.(*pod); ok {
			p.lastStart, p.idle = min(p.lastStart, t), min(p.idle, t)
		}
	}
	for _, c := range f.all {
		c.from, c.to, c.left = min(c.from, t), min(c.to, t), min(c.left, t)
	}
}

// Flush takes in what was held back: the log is at its end.
func (f *Fold) Flush() { f.settle(f.last, true) }

// Next returns the next record that is due, and how many lines are missing before it. all says that no line will follow.
func (f *Fold) Next(all bool) (r trace.Record, lost uint64, ok bool) {
	h, ok := f.out.Next(all)
	if !ok {
		return r, 0, false
	}
	f.seq++
	r = h.rec
	r.Seq = f.seq
	if h.owner != nil && h.owner.pod != nil {
		h.owner.pod.sealed = true
		r.Pod, r.Trace, r.Parent = h.owner.pod.id, h.owner.pod.trace, cmp.Or(r.Parent, h.owner.above)
	}
	return r, h.lost, true
}

// Gaps returns how many lines are missing after the last record, once.
func (f *Fold) Gaps() uint64 {
	n := f.gaps
	f.gaps = 0
	return n
}

// other keeps what is no call and tells of trouble.
func (f *Fold) other(l *Line, at int64) {
	if l.Level != trace.LevelWarn && l.Level != trace.LevelError {
		return
	}
	e := &trace.Log{Level: l.Level, Message: trace.Clip(l.Msg, 4096)}
	if l.Err != "" {
		e.Attrs = append(e.Attrs, trace.KV{K: "error", V: trace.Clip(l.Err, 1024)})
	}
	f.put(nil, at, trace.Record{Span: f.nextID(), Event: e})
}

func (f *Fold) nextID() trace.SpanID {
	f.ids++
	return trace.SpanID(f.ids)
}

func (f *Fold) put(o *owner, at int64, r trace.Record) {
	r.Time, r.Observer, r.Precision = at, trace.ObserverRuntimeLog, f.precision
	f.out.Add(at, &held{rec: r, owner: o, lost: f.gaps})
	f.gaps = 0
}

// span is something that has begun.
type span struct {
	id, parent trace.SpanID
	from       int64
	owner      *owner
	event      trace.Event
}

func (f *Fold) begin(o *owner, parent *span, at int64, e trace.Event) *span {
	s := &span{id: f.nextID(), from: at, owner: o, event: e}
	if parent != nil {
		s.parent = parent.id
	}
	f.put(o, at, trace.Record{Edge: trace.EdgeBegin, Span: s.id, Parent: s.parent, Event: e})
	return s
}

// end makes a record of its end; nil leaves the event as it began.
func (f *Fold) end(s *span, at int64, e trace.Event) {
	if s == nil {
		return
	}
	if e == nil {
		e = s.event
	}
	at = max(at, s.from)
	f.put(s.owner, at, trace.Record{Edge: trace.EdgeEnd, Span: s.id, Parent: s.parent, Dur: time.Duration(at - s.from), Event: e})
}

// was makes records of something of which both ends are known now. Where its begin is too long ago, its end alone tells of both.
func (f *Fold) was(o *owner, parent *span, from, to int64, e trace.Event) *span {
	s := &span{id: f.nextID(), from: min(from, to), owner: o, event: e}
	if parent != nil {
		s.parent = parent.id
	}
	if s.from > f.last-int64(f.out.Hold)+int64(time.Second) {
		f.put(o, s.from, trace.Record{Edge: trace.EdgeBegin, Span: s.id, Parent: s.parent, Event: e})
	}
	f.end(s, to, nil)
	return s
}
