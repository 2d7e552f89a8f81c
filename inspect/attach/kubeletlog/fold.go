package kubeletlog

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/order"
	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// jitter is how far entries may be out of order: goroutines write them side by side.
	jitter = time.Second
	// settle is how long records are held back: a pod's UID, and what its last container's start means, are known later.
	settle = 15 * time.Second
	// quiet is how long after its last container's start a pod counts as started where the log does not say it.
	quiet = 10 * time.Second
	// maxHeld bounds the records that are held back, maxPods the pods that are known.
	maxHeld = 1 << 14
	maxPods = 1 << 14
	// stepBack is from which on a time that is earlier is another part of the log.
	stepBack = time.Minute
)

// micros is klog's precision; relist is upstream's, of what its PLEG found by looking each second.
const (
	micros = time.Microsecond
	relist = time.Second
)

// Fold makes records of entries. Use [NewFold].
type Fold struct {
	in    order.Queue[*klog.Entry]
	out   order.Queue[*held]
	pods  pods
	node  nodeState
	specs specs

	seq uint64
	ids uint64
	// renewals are the errors of the last killings of pods for new sandboxes.
	renewals []string
	gaps     uint64 // lines that are missing before the next record
	level    int    // the verbosity that was seen so far
	last     int64
	live     bool // the log is followed
}

// held is a record whose pod is not known in full yet, or a gap.
type held struct {
	rec  trace.Record
	pod  *pod
	lost uint64
}

// NewFold returns a fold of the entries of one kubelet.
func NewFold() *Fold {
	f := &Fold{pods: newPods(), level: -1}
	f.in.Hold, f.in.Most, f.in.Size = jitter, 1024, (*klog.Entry).Size
	f.out.Hold, f.out.Most, f.out.Size = settle, maxHeld, func(h *held) int { return h.rec.Size() }
	return f
}

// Live says that the log is followed while it is written: records are held back for hold only. Then a few come after later ones.
func (f *Fold) Live(hold time.Duration) { f.out.Hold, f.live = max(hold, jitter), true }

// Until says that no entry will come that is older than t, in Unix nanoseconds: a log that is followed has nothing new. What was held back
// becomes due.
func (f *Fold) Until(t int64) {
	f.in.Last = max(f.in.Last, t)
	f.drain(false)
	if f.last != 0 {
		f.slowMounts(t - int64(jitter))
		f.pods.settled(f, t-int64(jitter), false)
	}
	f.out.Last = max(f.out.Last, t)
}

// Due is the time up to which records are out, but for a few that come late; 0 before the first entry.
func (f *Fold) Due() int64 { return max(f.out.Last-int64(f.out.Hold), 0) }

// Level is the verbosity of the log as far as its messages tell: at least this; -1 while nothing was seen.
func (f *Fold) Level() int { return f.level }

// Apply takes an entry in. The fold keeps it for a while.
func (f *Fold) Apply(e *klog.Entry) {
	at := e.Time.UnixNano()
	if f.in.Last != 0 && at < f.in.Last-int64(stepBack) { // the clock was set back, or another part of the log follows
		f.Lost(1)
		if f.in.Last, f.out.Last, f.last = 0, 0, 0; f.live {
			f.out.Anew()
		}
		f.pods.setBack(at)
	}
	f.in.Add(at, e)
	f.drain(false)
}

// Lost says that lines are missing: what has begun is not ended by what follows.
func (f *Fold) Lost(n uint64) {
	if n == 0 {
		return
	}
	f.drain(true)
	f.pods.forget()
	f.node = nodeState{}
	f.gaps += n
}

// Flush takes in what was held back: the log is at its end.
func (f *Fold) Flush() { f.drain(true) }

func (f *Fold) drain(all bool) {
	for {
		e, ok := f.in.Next(all)
		if !ok {
			break
		}
		f.take(e)
	}
	if all {
		f.pods.settled(f, f.in.Last, true)
	}
}

// Next returns the next record that is due, and how many lines are missing before it. all says that no entry will follow.
func (f *Fold) Next(all bool) (r trace.Record, lost uint64, ok bool) {
	h, ok := f.out.Next(all)
	if !ok {
		return r, 0, false
	}
	f.seq++
	r = h.rec
	r.Seq = f.seq
	if h.pod != nil {
		h.pod.sealed = true
		r.Pod, r.Trace = h.pod.id, h.pod.trace
	}
	return r, h.lost, true
}

// take makes records of one entry.
func (f *Fold) take(e *klog.Entry) {
	f.nameOld(e)
	modern(e)
	at := e.Time.UnixNano()
	f.slowMounts(at)
	f.last, f.out.Last = max(f.last, at), max(f.out.Last, at)
	f.pods.settled(f, at, false)
	f.levelOf(e)
	f.quietNode(at)
	if rule, ok := table[e.Msg]; ok {
		f.saw(rule.v)
		if rule.do(f, e, at) {
			return
		}
	} else if f.text(e, at) {
		return
	} else if v, ok := kept[e.Msg]; ok {
		f.saw(v)
	}
	f.log(e, at)
}

// saw notes that a message of a level was there.
func (f *Fold) saw(v int) { f.level = max(f.level, v) }

func (f *Fold) levelOf(e *klog.Entry) {
	if e.V > 0 {
		f.saw(e.V)
	} else {
		f.saw(0)
	}
}

// log keeps an entry as it is.
func (f *Fold) log(e *klog.Entry, at int64) {
	level := trace.LevelInfo
	switch e.Severity {
	case klog.Warning:
		level = trace.LevelWarn
	case klog.Error, klog.Fatal:
		level = trace.LevelError
	case klog.Info:
	}
	l := &trace.Log{Level: level, Message: trace.Clip(public(e.Msg), 4096)}
	for _, kv := range e.Fields {
		if private(e.Msg, kv.Key) {
			continue
		}
		l.Attrs = append(l.Attrs, trace.KV{K: kv.Key, V: trace.Clip(public(kv.Value), 1024)})
	}
	f.point(f.podOf(e), at, micros, l)
}

// span is something that has begun.
type span struct {
	id, parent trace.SpanID
	from       int64
	precision  time.Duration
	pod        *pod
	event      trace.Event
}

func (f *Fold) nextID() trace.SpanID {
	f.ids++
	return trace.SpanID(f.ids)
}

func (f *Fold) put(p *pod, at int64, precision time.Duration, r trace.Record) {
	r.Time, r.Observer, r.Precision = at, trace.ObserverKubeletLog, trace.PrecisionOf(precision)
	f.out.Add(at, &held{rec: r, pod: p, lost: f.gaps})
	f.gaps = 0
}

// point makes a record without duration.
func (f *Fold) point(p *pod, at int64, precision time.Duration, e trace.Event) {
	f.put(p, at, precision, trace.Record{Span: f.nextID(), Event: e})
}

// begin makes a record of a beginning. parent may be nil.
func (f *Fold) begin(p *pod, parent *span, at int64, e trace.Event) *span {
	s := &span{id: f.nextID(), from: at, precision: micros, pod: p, event: e}
	if parent != nil {
		s.parent = parent.id
	}
	f.put(p, at, s.precision, trace.Record{Edge: trace.EdgeBegin, Span: s.id, Parent: s.parent, Event: e})
	return s
}

// end makes a record of its end, with what is known by now; nil leaves the event as it began.
func (f *Fold) end(s *span, at int64, precision time.Duration, e trace.Event) {
	if s == nil {
		return
	}
	if e == nil {
		e = s.event
	}
	at = max(at, s.from)
	f.put(s.pod, at, precision, trace.Record{Edge: trace.EdgeEnd, Span: s.id, Parent: s.parent, Dur: time.Duration(at - s.from), Event: e})
}

// was makes records of something of which both ends are known now. Where its begin is too long ago, its end alone tells of both.
func (f *Fold) was(p *pod, parent *span, from, to int64, precision time.Duration, e trace.Event) *span {
	from = min(from, to)
	s := &span{id: f.nextID(), from: from, precision: precision, pod: p, event: e}
	if parent != nil {
		s.parent = parent.id
	}
	if to > from && from > f.last-int64(f.out.Hold)+int64(jitter) {
		f.put(p, from, precision, trace.Record{Edge: trace.EdgeBegin, Span: s.id, Parent: s.parent, Event: e})
	}
	f.end(s, to, precision, nil)
	return s
}

// Gaps returns how many lines are missing after the last record, once.
func (f *Fold) Gaps() uint64 {
	n := f.gaps
	f.gaps = 0
	return n
}
