package spanfile

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// The ends of what a span becomes, in the order of records of the same time.
const (
	rankSeen = iota
	rankBegin
	rankPoint
	rankEnd
)

// placed is a record with its place among those of the same time.
type placed struct {
	trace.Record
	rank int
	dur  int64 // of its span
}

// records makes the records of a trace's spans, in order. There are none without a span that kubeloupe made.
func records(id trace.TraceID, spans []span) []trace.Record {
	by := make(map[trace.SpanID]*span, len(spans))
	var root *span
	for i := range spans {
		s := &spans[i]
		by[s.id] = s
		if s.attrs[prefix+"kind"] == "pod.start" && (root == nil || s.start < root.start) {
			root = s
		}
	}
	var out []placed
	pod, ours := trace.Pod{}, false
	if root != nil {
		pod = root.pod()
	}
	for i := range spans {
		if s := &spans[i]; kindOf(s) != "" {
			ours, pod = true, cmp.Or(pod, s.pod())
		}
	}
	if !ours {
		return nil
	}
	for i := range spans {
		s := &spans[i]
		parent := s.parent
		if root != nil && (s == root || parent == root.id) {
			parent = 0
		}
		base := trace.Record{Trace: id, Span: s.id, Parent: parent, Pod: pod}
		out = append(out, of(s, base, by)...)
		for j := range s.events {
			e := &s.events[j]
			event, ok := eventOf(e.attrs)
			if !ok || e.at > maxTime {
				continue
			}
			r := base
			r.Time, r.Event, r.Span, r.Parent = e.at, event, trace.SpanID(uint64(s.id)+uint64(j+1)<<32), s.id
			if s == root {
				r.Parent = 0
			}
			observed(&r, e.attrs)
			out = append(out, placed{r, rankOf(&r), 0})
		}
	}
	if root != nil {
		out = append(out, milestones(root, out, trace.Record{Trace: id, Pod: pod})...)
	}
	sorting.Stable(out, func(a, b *placed) int {
		longer := cmp.Compare(b.dur, a.dur) // what is longer begins first and ends last
		if a.rank == rankEnd {
			longer = -longer
		}
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.rank, b.rank), longer)
	})
	recs := make([]trace.Record, 0, len(out))
	for i := range out {
		r := out[i].Record
		r.Seq = uint64(i + 1)
		r.Limit()
		recs = append(recs, r)
	}
	return recs
}

func rankOf(r *trace.Record) int {
	if m, ok := r.Event.(*trace.Milestone); ok && m.Name == trace.MilestoneSeen {
		return rankSeen
	}
	return rankPoint
}

// of makes the records of a span. That of another program is the runtime's, if it is part of a span that kubeloupe made.
func of(s *span, base trace.Record, by map[trace.SpanID]*span) []placed {
	end := max(s.end, s.start)
	dur := end - s.start
	switch kind := kindOf(s); {
	case s.attrs[prefix+"kind"] == "pod.start":
		return nil
	case kind == "runtime.span" || kind == "" && within(s, by):
		e := &trace.RuntimeSpan{Service: s.service, Name: s.name, Start: s.start, Dur: time.Duration(dur), Attrs: attrsOf(s.attrs)}
		if s.failed {
			e.Err = cmp.Or(s.why, "failed")
		}
		base.Time, base.Event, base.Observer = end, e, trace.ObserverRuntimeSpan
		return []placed{{base, rankEnd, dur}}
	case kind == "":
		return nil
	}
	event, ok := eventOf(s.attrs)
	if !ok {
		return nil
	}
	observed(&base, s.attrs)
	begin, last := base, base
	begin.Edge, begin.Time, begin.Event = trace.EdgeBegin, s.start, event
	last.Edge, last.Time, last.Event, last.Dur = trace.EdgeEnd, end, event, time.Duration(dur)
	if s.attrs[prefix+"open"] == true {
		return []placed{{begin, rankBegin, dur}}
	}
	if dur == 0 && isPoint(event) {
		begin.Edge = trace.EdgePoint
		return []placed{{begin, rankOf(&begin), 0}}
	}
	return []placed{{begin, rankBegin, dur}, {last, rankEnd, dur}}
}

// isPoint reports whether an event has no duration.
func isPoint(e trace.Event) bool {
	switch e.(type) {
	case *trace.Milestone, *trace.PodStatus, *trace.Decision, *trace.Plan, *trace.Worker, *trace.NodeEvent, *trace.Log, *trace.PLEGEvent, *trace.ImageProgress:
		return true
	}
	return false
}

// maxUp limits the walk from a span to one of ours.
const maxUp = 64

// within reports whether a span is part of one that kubeloupe made of a call.
func within(s *span, by map[trace.SpanID]*span) bool {
	for range maxUp {
		up := by[s.parent]
		if up == nil || up == s {
			return false
		}
		if kind := kindOf(up); kind != "" && kind != "pod.start" {
			return true
		}
		s = up
	}
	return false
}

// milestones returns what the root says of the start and no event does: of many events, some were left out.
func milestones(root *span, have []placed, base trace.Record) (out []placed) {
	there := map[trace.MilestoneName]bool{}
	for i := range have {
		if m, ok := have[i].Event.(*trace.Milestone); ok {
			there[m.Name] = true
		}
	}
	add := func(name trace.MilestoneName, since int64) {
		if there[name] || since < 0 || since > root.end-root.start {
			return
		}
		r := base
		r.Time, r.Span, r.Event = root.start+since, trace.SpanID(uint64(root.id)+uint64(len(out)+1)<<48), &trace.Milestone{
			Name: name, Since: time.Duration(since), Source: trace.SourceName(root.text(prefix + "start.source")),
		}
		out = append(out, placed{r, rankOf(&r), 0})
	}
	add(trace.MilestoneSeen, 0)
	if since, ok := root.attrs[prefix+"start.started_ns"].(int64); ok {
		add(trace.MilestoneStarted, since)
	}
	if since, ok := root.attrs[prefix+"start.ready_ns"].(int64); ok {
		add(trace.MilestoneReady, since)
	}
	return out
}

// prefix begins the names of our attributes.
const prefix = "kubeloupe."

// kindOf returns the kind of the event that a span was made of, "" for spans of others.
func kindOf(s *span) string {
	kind, _ := s.attrs[prefix+"kind"].(string)
	return kind
}

// eventOf makes an event of the attributes that inspect/export made of it. What was too long for an attribute is missing.
func eventOf(attrs map[string]any) (trace.Event, bool) {
	kind, _ := attrs[prefix+"kind"].(string)
	e, ok := trace.New(kind)
	if !ok {
		return nil, false
	}
	fields := map[string]json.RawMessage{}
	for f := range reflect.TypeOf(e).Elem().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		v, there := attrs[prefix+name]
		if name == "" || name == "-" || !there {
			continue
		}
		if raw, ok := rawOf(v, f.Type.Kind()); ok {
			fields[name] = raw
		}
	}
	for name, raw := range fields { // one that does not fit does no harm to the others
		one, err := json.Marshal(map[string]json.RawMessage{name: raw})
		if err != nil || json.Unmarshal(one, e) != nil {
			continue
		}
	}
	return e, true
}

// rawOf returns an attribute as the JSON of a field.
func rawOf(v any, kind reflect.Kind) (json.RawMessage, bool) {
	if s, ok := v.(string); ok && kind != reflect.String {
		return json.RawMessage(s), json.Valid([]byte(s))
	}
	raw, err := json.Marshal(v)
	return raw, err == nil
}

// observed sets who observed a record.
func observed(r *trace.Record, attrs map[string]any) {
	if s, ok := attrs[prefix+"observer"].(string); ok {
		_ = r.Observer.UnmarshalText([]byte(s)) // one that is not known is the agent
	}
	if s, ok := attrs[prefix+"observed_also_by"].(string); ok {
		_ = r.Also.UnmarshalText([]byte(s))
	}
	if us, ok := attrs[prefix+"precision_us"].(int64); ok {
		r.Precision = trace.PrecisionOf(time.Duration(min(max(us, 0), int64(time.Hour/time.Microsecond))) * time.Microsecond)
	}
}

// attrsOf are the attributes that the runtime gave a span.
func attrsOf(in map[string]any) (out []trace.KV) {
	for k, v := range in {
		if s, ok := v.(string); ok && !strings.HasPrefix(k, prefix) && !strings.HasPrefix(k, "k8s.") {
			out = append(out, trace.KV{K: k, V: s})
		}
	}
	sorting.Stable(out, func(a, b *trace.KV) int { return cmp.Compare(a.K, b.K) })
	return out
}
