package merge

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// near is how far apart two observers' times of one thing may lie beyond their precision: they write at different places in the code.
	near = 500 * time.Millisecond
	// slack is up to which difference they agree.
	slack = 10 * time.Millisecond
	// maxAlike is how many of the latest things of one kind are looked at: whoever writes a log names them.
	maxAlike = 64
	// maxThings bounds the things that are known, maxAliases the spans that became another's.
	maxThings = 1 << 13
	// maxCalls is how many of the latest calls a span is compared with.
	maxCalls   = 1 << 10
	maxAliases = 1 << 15
)

// thing is what several observers may tell of: a span or a point.
type thing struct {
	key       string
	in        *Input // who told it first, or best
	span      trace.SpanID
	pod       trace.Pod
	trace     trace.TraceID
	from, to  int64 // to is 0 while it goes on
	precision time.Duration
	begin     *item
	end       *item
	told      inputs           // who told it
	parts     []trace.Record   // of a pull: they are told when it has ended
	call      trace.SpanID     // of a pull: the runtime's call
	up        *thing           // what it is part of
	was       *trace.CRICall   // the call that it was, once that has ended, without its error
	views     []trace.Observer // who sent a span of this call
}

// inputs is a set of inputs: each thing has one.
type inputs uint64

func (s inputs) has(in *Input) bool    { return s&(1<<(in.n-1)) != 0 }
func (s inputs) with(in *Input) inputs { return s | 1<<(in.n-1) }

// same knows which records tell of the same thing.
type same struct {
	things map[string][]*thing
	order  []*thing
	calls  []*thing                // the latest calls, for spans of them
	spans  map[trace.SpanID]*thing // of those that go on, by each observer's span
	alias  map[trace.SpanID]*thing
	old    []trace.SpanID // of alias, the oldest first
}

func newSame() same {
	return same{things: map[string][]*thing{}, spans: map[trace.SpanID]*thing{}, alias: map[trace.SpanID]*thing{}}
}

// keyOf is what a record is about, for all observers alike; "" for what only one can tell.
func keyOf(r *trace.Record) string {
	pod := r.Pod.UID + " " + r.Pod.String() + " "
	switch e := r.Event.(type) {
	case *trace.Action:
		return pod + "action " + e.ID
	case *trace.ImagePull:
		return "pull " + image(e.Image)
	case *trace.CRICall:
		switch e.Method {
		case "RunPodSandbox", "CreateContainer":
			if r.Pod.Name == "" {
				return ""
			}
			return pod + e.Method + " " + e.Sandbox
		case "PullImage":
			return ""
		}
		if id := e.Container + e.Sandbox; id != "" {
			return e.Method + " " + id
		}
	case *trace.Sync:
		why := e.Why
		if why != trace.SyncKill && why != trace.SyncFinish {
			why = trace.SyncAgain
		}
		return pod + "sync " + string(why)
	case *trace.GC:
		return "gc " + string(e.What)
	case *trace.Milestone:
		return pod + "milestone " + string(e.Name)
	case *trace.Wait:
		if e.For == trace.WaitInit || e.For == trace.WaitGrace || e.For == trace.WaitOtherPull {
			return pod + "wait " + string(e.For) + " " + e.Target.Name
		}
	case *trace.Volume:
		return pod + "volume " + string(e.Op) + " " + e.Name
	case *trace.PLEGEvent:
		if e.From == trace.PLEGEvented && e.Type == trace.ContainerDied && e.Container != "" {
			return "died " + e.Container
		}
	case *trace.OOMKill:
		if e.Container != "" {
			return "oom " + e.Container
		}
	case *trace.NodeEvent:
		return pod + "event " + e.Reason + " " + e.Object + e.Field + " " + e.Message
	}
	return ""
}

// image is an image's name in full.
func image(s string) string {
	s = strings.TrimPrefix(s, "docker.io/")
	s = strings.TrimPrefix(s, "library/")
	if !strings.Contains(s[strings.LastIndexByte(s, '/')+1:], ":") && !strings.Contains(s, "@") {
		s += ":latest"
	}
	return s
}

// match finds what others told of the same thing as a record, and makes one of both.
func (m *Merger) match(it *item) {
	r := &it.rec
	m.containerStarts(r)
	if m.startMoves(it) {
		return
	}
	if t := m.same.spans[r.Span]; t != nil && r.Edge == trace.EdgeEnd {
		m.ends(t, it)
		return
	}
	if isView(r) {
		m.view(it)
		return
	}
	key := keyOf(r)
	if key == "" {
		if _, call := r.Event.(*trace.CRICall); !call {
			return
		}
		key = fmt.Sprintf("call %v", r.Span) // only spans can tell of it, too
	}
	if t := m.same.find(key, it); t != nil {
		m.join(t, it)
		return
	}
	t := &thing{
		key: key, in: it.from, span: r.Span, pod: r.Pod, trace: r.Trace, from: r.Start(), precision: r.Precision.Duration(), told: inputs(0).with(it.from),
		up: m.same.alias[r.Parent],
	}
	if t.up == nil {
		t.up = m.same.spans[r.Parent]
	}
	m.same.add(t, it)
	m.views.ended = m.views.ended || t.end != nil
	m.beginOf(t, it)
}

// beginOf adds the begin of what a kubelet's span tells in whole, unless that comes too late.
func (m *Merger) beginOf(t *thing, it *item) {
	r := it.rec
	if r.Observer != trace.ObserverKubeletSpan || r.Edge != trace.EdgeEnd || r.Start() < m.out.Last-int64(m.out.Hold) {
		return
	}
	r.Time, r.Edge, r.Dur = r.Start(), trace.EdgeBegin, 0
	t.begin = &item{rec: r, from: it.from, thing: t}
	m.out.Add(r.Time, t.begin)
}

// find returns the thing of another observer that a begin or a point tells of, too.
func (s *same) find(key string, it *item) *thing {
	if _, sync := it.rec.Event.(*trace.Sync); sync {
		return s.findSync(key, it)
	}
	at, precision := it.rec.Start(), it.rec.Precision.Duration()
	for _, t := range s.latest(key) {
		room := int64(near + precision + t.precision)
		if t.told.has(it.from) || at < t.from-room || (t.to != 0 && at > t.to+room) || it.rec.Pod.Name != "" && t.pod.Name != "" && it.rec.Pod != t.pod {
			continue
		}
		if it.rec.Edge == trace.EdgePoint && at > t.from+room {
			continue
		}
		return t
	}
	return nil
}

// findSync returns the nearest sync of another observer. A log below V4 has only the ends of those that failed.
func (s *same) findSync(key string, it *item) (best *thing) {
	r, least := &it.rec, near
	instant := r.Edge == trace.EdgeEnd && r.Dur == 0
	for _, t := range s.latest(key) {
		d := apartBy(r.Start(), t.from)
		if t.begin == nil && t.from == t.to || instant && t.to != 0 {
			d = apartBy(r.Time, t.to)
		}
		if !t.told.has(it.from) && d < least {
			best, least = t, d
		}
	}
	return best
}

// latest are the latest things with a key, in their order.
func (s *same) latest(key string) []*thing {
	all := s.things[key]
	return all[max(0, len(all)-maxAlike):]
}

// ended is when the last of such things ended before a time; 0 where none did.
func (s *same) ended(like *trace.Record, before int64) (last int64) {
	for _, t := range s.latest(keyOf(like)) {
		if t.to <= before {
			last = max(last, t.to)
		}
	}
	return last
}

func (s *same) add(t *thing, it *item) {
	s.things[t.key] = append(s.things[t.key], t)
	if s.order = append(s.order, t); len(s.order) > maxThings {
		s.forget(s.order[0])
		s.order = s.order[1:]
	}
	it.thing = t
	if _, call := it.rec.Event.(*trace.CRICall); call {
		if s.calls = append(s.calls, t); len(s.calls) > maxCalls {
			s.calls = s.calls[1:]
		}
	}
	switch it.rec.Edge {
	case trace.EdgeBegin:
		t.begin = it
		s.spans[t.span] = t
		if _, pull := it.rec.Event.(*trace.ImagePull); pull { // whose pod may be known later
			s.note(t.span, t)
		}
	case trace.EdgeEnd:
		t.to, t.end = it.rec.Time, it
		t.calledAs(it.rec.Event)
	case trace.EdgePoint:
		t.to, t.begin = it.rec.Time, it
	}
}

func (s *same) forget(t *thing) {
	all := s.things[t.key]
	for i := range all {
		if all[i] == t {
			all = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	if s.things[t.key] = all; len(all) == 0 {
		delete(s.things, t.key)
	}
	delete(s.spans, t.span)
}

// become notes that a span is now a thing's.
func (s *same) become(span trace.SpanID, t *thing) {
	if span == 0 || span == t.span {
		return
	}
	s.note(span, t)
}

func (s *same) note(span trace.SpanID, t *thing) {
	s.alias[span] = t
	if s.old = append(s.old, span); len(s.old) > maxAliases {
		delete(s.alias, s.old[0])
		delete(s.spans, s.old[0])
		s.old = s.old[1:]
	}
}
