package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Call is one CRI call.
type Call struct {
	Seq       uint64 // of its first observed record
	Span      trace.SpanID
	Parent    trace.SpanID
	Pod       trace.Pod // zero for calls without a pod
	Method    string
	Target    string // image, container or sandbox: the most useful one that is known
	Sandbox   string
	Container string
	Image     string
	Begin     time.Time
	End       time.Time // zero while running
	Dur       time.Duration
	Code      string // gRPC code's name; "" while running
	Err       string
	Items     int
	Request   trace.Body // render with MarshalJSON
	Response  trace.Body
	InFlight  bool
	Uncertain bool // running, but its end may have been lost
}

// Age returns how long the call has run until now, or its duration.
func (c *Call) Age(now time.Time) time.Duration {
	if !c.InFlight {
		return c.Dur
	}
	return max(now.Sub(c.Begin), 0)
}

// Failed reports whether the call ended in an error.
func (c *Call) Failed() bool { return c.Err != "" || (c.Code != "" && c.Code != "OK") }

// sample is a finished call without its bodies.
type sample struct {
	method string
	end    int64
	dur    time.Duration
	failed bool
}

// Method has the figures of one CRI method, or of the requests to the API server with one verb and resource.
type Method struct {
	Name          string
	Count, Errors int // finished within the window
	P50, P99, Max time.Duration
	InFlight      int // now
}

// methodWindow is the time window of Methods.
const methodWindow = time.Minute

// Calls returns the last CRI calls, oldest first, including running ones.
func (m *Model) Calls() []Call { return m.AppendCalls(make([]Call, 0, m.calls.Len())) }

// AppendCalls appends the result of Calls to dst.
func (m *Model) AppendCalls(dst []Call) []Call {
	m.calls.Each(func(c *Call) { dst = append(dst, *c) })
	return dst
}

// InFlight returns the running CRI calls, oldest first.
func (m *Model) InFlight() []Call {
	out := make([]Call, 0, len(m.inFlight))
	for _, c := range m.inFlight {
		out = append(out, *c)
	}
	sorting.Stable(out, func(a, b *Call) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// Methods returns per-method figures of the minute before now, by name.
func (m *Model) Methods(now time.Time) []Method {
	open := map[string]int{}
	for _, c := range m.inFlight {
		open[c.Method]++
	}
	return figures(&m.samples, open, now)
}

// figures returns the figures of the samples of the minute before now, by method; open are running calls.
func figures(samples *ring.Ring[sample], open map[string]int, now time.Time) []Method {
	durs, by := map[string][]time.Duration{}, map[string]*Method{}
	get := func(name string) *Method {
		if by[name] == nil {
			by[name] = &Method{Name: name}
		}
		return by[name]
	}
	since := now.Add(-methodWindow).UnixNano()
	samples.Back(func(s sample) bool {
		if s.end < since {
			return false
		}
		t := get(s.method)
		t.Count++
		if s.failed {
			t.Errors++
		}
		durs[s.method] = append(durs[s.method], s.dur)
		return true
	})
	for name, n := range open {
		get(name).InFlight += n
	}
	out := make([]Method, 0, len(by))
	for name, t := range by {
		d := durs[name]
		slices.Sort(d)
		t.P50, t.P99, t.Max = Percentile(d, 50), Percentile(d, 99), Percentile(d, 100)
		out = append(out, *t)
	}
	sorting.Stable(out, func(a, b *Method) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (m *Model) applyCall(r *trace.Record, e *trace.CRICall) {
	c := m.inFlight[r.Span]
	if c == nil {
		c = &Call{Seq: r.Seq, Span: r.Span, Parent: r.Parent, Begin: at(r.Start())}
		if old, displaced := m.calls.Push(c); displaced {
			delete(m.inFlight, old.Span)
		}
	}
	c.fill(r, e)
	if r.Edge == trace.EdgeBegin {
		c.InFlight = true
		m.inFlight[r.Span] = c
		m.begin(func() {
			if c.InFlight = false; m.inFlight[c.Span] == c {
				delete(m.inFlight, c.Span)
			}
		}, func() { c.Uncertain = true })
		return
	}
	m.end()
	delete(m.inFlight, r.Span)
	c.InFlight, c.Uncertain, c.End, c.Dur = false, false, at(r.Time), r.Dur
	m.samples.Push(sample{method: c.Method, end: r.Time, dur: r.Dur, failed: c.Failed()})
}

// fill takes the record's fields; an end need not repeat those of the begin.
func (c *Call) fill(r *trace.Record, e *trace.CRICall) {
	c.Pod, c.Method = cmp.Or(r.Pod, c.Pod), cmp.Or(e.Method, c.Method)
	c.Sandbox, c.Container = cmp.Or(e.Sandbox, c.Sandbox), cmp.Or(e.Container, c.Container)
	c.Image = cmp.Or(e.Image, c.Image)
	c.Target = cmp.Or(c.Image, c.Container, c.Sandbox)
	c.Code, c.Err, c.Items = e.Code, e.Err, e.Items
	if !e.Request.IsZero() {
		c.Request = e.Request
	}
	if !e.Response.IsZero() {
		c.Response = e.Response
	}
}

// Percentile returns the p-th percentile of sorted (ascending) by the nearest rank, 0 if it is empty.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (p*len(sorted) + 99) / 100
	return sorted[min(max(rank, 1), len(sorted))-1]
}
