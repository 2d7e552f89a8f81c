package export

import (
	"cmp"
	"maps"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Tree is a span with all that is below it, as a tracing backend gets it: a pod's start, a sync, a run of the garbage collection. All its
// spans are of one trace. Those that were recorded with another one have a link to it: the API server's own spans are there.
type Tree struct {
	// Node and Version say who sends it.
	Node, Version string
	// Pod is on all spans of ours; zero for the node.
	Pod   trace.Pod
	Trace trace.TraceID
	// Root is the span of which all others are part. If no record has it, it is made of Name, Start and End.
	Root       trace.SpanID
	Name       string
	Start, End time.Time
	// Err is why it failed; empty if it did not.
	Err   string
	Attrs []Attr
	// Link is an earlier trace about the same; zero if there is none.
	Link trace.TraceID
	// Critical are the spans that are on the critical path.
	Critical map[trace.SpanID]bool
	Causes   []cause.Finding
	// Recs are the records; what begins after End is left out, and so is what has not ended, unless Open is set.
	Recs []trace.Record
	Open bool
}

// Attr is an attribute of a tree's root. The value is a string, int64, float64 or bool.
type Attr struct {
	Key   string
	Value any
}

// maxEvents is how many events a span has. More are counted.
const maxEvents = 64

// Spans returns the tree by who sends its spans: the agent, then the runtime and others whose spans it received. It has at most that many
// spans: the shortest of other programs are left out first. It returns how many it has.
func (t *Tree) Spans(most int) (out []*tracepb.ResourceSpans, n int) {
	s := fold(t.Recs, Options{})
	s.spans = slices.DeleteFunc(s.spans, func(sp *span) bool {
		return sp.id != t.Root && (sp.start > t.End.UnixNano() || sp.open && !t.Open)
	})
	left := len(s.spans)
	s.spans = t.most(s.spans, most-1)
	left -= len(s.spans)
	kept := make(map[trace.SpanID]bool, len(s.spans))
	for _, sp := range s.spans {
		kept[sp.id] = true
	}
	by := map[string][]*tracepb.Span{}
	if !kept[t.Root] {
		by[serviceName] = append(by[serviceName], t.root(&span{id: t.Root, trace: t.Trace, pod: t.Pod, start: t.Start.UnixNano(), end: t.End.UnixNano()}, s.points, left))
		n++
	}
	for _, sp := range s.spans {
		n++
		if sp.id == t.Root {
			by[serviceName] = append([]*tracepb.Span{t.root(sp, s.points, left)}, by[serviceName]...)
			continue
		}
		service := serviceOf(sp.event)
		by[service] = append(by[service], t.span(sp, kept))
	}
	others := slices.Sorted(maps.Keys(by))
	slices.SortStableFunc(others, func(a, b string) int { return compareBool(a != serviceName, b != serviceName) })
	for _, service := range others {
		out = append(out, &tracepb.ResourceSpans{
			SchemaUrl: semconv.SchemaURL, Resource: &resourcepb.Resource{Attributes: t.resource(service)},
			ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "github.com/kubeloupe/kubeloupe", Version: t.Version}, Spans: by[service]}},
		})
	}
	return out, n
}

// most leaves out what is too much: spans of other programs before ours, short ones before long ones.
func (t *Tree) most(spans []*span, most int) []*span {
	if len(spans) <= most {
		return spans
	}
	foreign := func(sp *span) bool { _, yes := sp.event.(*trace.RuntimeSpan); return yes }
	by := slices.Clone(spans)
	slices.SortStableFunc(by, func(a, b *span) int {
		return cmp.Or(compareBool(a.id != t.Root, b.id != t.Root), compareBool(foreign(a), foreign(b)), cmp.Compare(b.end-b.start, a.end-a.start))
	})
	keep := map[*span]bool{}
	for _, sp := range by[:max(most, 0)] {
		keep[sp] = true
	}
	return slices.DeleteFunc(spans, func(sp *span) bool { return !keep[sp] })
}

// serviceOf names the program that has told a span.
func serviceOf(e trace.Event) string {
	if told, ok := e.(*trace.RuntimeSpan); ok && told.Service != "" {
		return human.Line(told.Service)
	}
	return serviceName
}

func (t *Tree) resource(service string) []*commonpb.KeyValue {
	out := []*commonpb.KeyValue{attr(string(semconv.ServiceNameKey), service)}
	if t.Node != "" {
		out = append(out, attr(string(semconv.K8SNodeNameKey), human.Line(t.Node)))
	}
	if service == serviceName {
		out = append(out, attr(string(semconv.ServiceVersionKey), t.Version), attr(string(semconv.ServiceInstanceIDKey), human.Line(t.Node)))
	}
	return out
}

// root makes the root, with the points that no other span has as its events, and the causes.
func (t *Tree) root(sp *span, points []point, left int) *tracepb.Span {
	out := t.span(sp, nil)
	out.ParentSpanId = nil
	if t.Name != "" {
		out.Name = t.Name
	}
	if t.Err != "" {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: limit(human.Line(t.Err))}
	}
	if !t.Link.IsZero() {
		out.Links = append(out.Links, &tracepb.Span_Link{TraceId: traceID(t.Link, sp.id), SpanId: spanID(sp.id), Flags: 1})
	}
	for _, a := range t.Attrs {
		out.Attributes = append(out.Attributes, attr(a.Key, clean(a.Value)))
	}
	if left > 0 {
		out.Attributes = append(out.Attributes, attr("kubeloupe.spans_left_out", int64(left)))
	}
	for _, p := range points {
		if p.at <= t.End.UnixNano() {
			t.event(out, &p)
		}
	}
	for i := range t.Causes {
		out.Events = append(out.Events, t.cause(&t.Causes[i]))
	}
	slices.SortStableFunc(out.Events, func(a, b *tracepb.Span_Event) int { return cmp.Compare(a.TimeUnixNano, b.TimeUnixNano) })
	return out
}

// span makes a span of the tree. One whose parent is not there is directly below the root.
func (t *Tree) span(sp *span, kept map[trace.SpanID]bool) *tracepb.Span {
	out := &tracepb.Span{TraceId: traceID(t.Trace, t.Root), SpanId: spanID(sp.id), ParentSpanId: spanID(t.Root), Flags: 1} // sampled
	if kept[sp.parent] && sp.parent != sp.id {
		out.ParentSpanId = spanID(sp.parent)
	}
	for _, other := range []trace.TraceID{sp.trace, sentIn(sp.event)} {
		if other != t.Trace && !other.IsZero() {
			out.Links = append(out.Links, &tracepb.Span_Link{TraceId: traceID(other, sp.id), SpanId: spanID(sp.id), Flags: 1})
		}
	}
	out.StartTimeUnixNano, out.EndTimeUnixNano = unixNano(sp.start), unixNano(sp.end)
	if sp.event == nil { // the root
		out.Kind, out.Attributes = tracepb.Span_SPAN_KIND_INTERNAL, t.subject()
		return out
	}
	out.Name, out.Kind = nameOf(sp.event), kindOf(sp.event)
	out.Attributes = append(attributes(sp.event), seenAttrs(sp.event, sp.seen)...)
	if serviceOf(sp.event) == serviceName {
		out.Attributes = append(out.Attributes, t.subject()...)
	}
	if t.Critical[sp.id] {
		out.Attributes = append(out.Attributes, attr("kubeloupe.critical", true))
	}
	if sp.open {
		out.Attributes = append(out.Attributes, attr("kubeloupe.open", true))
	} else if why := trace.Failure(sp.event); why != "" {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: limit(human.Line(why))}
	}
	for _, p := range sp.points {
		t.event(out, &p)
	}
	return out
}

// sentIn returns the trace that another program had a span in, where attach gave it another one; zero if it is not known.
func sentIn(e trace.Event) (id trace.TraceID) {
	if told, ok := e.(*trace.RuntimeSpan); ok {
		for _, a := range told.Attrs {
			if a.K == trace.AttrTrace && id.UnmarshalText([]byte(a.V)) != nil {
				return trace.TraceID{}
			}
		}
	}
	return id
}

// event adds a point to a span, if it has room.
func (t *Tree) event(to *tracepb.Span, p *point) {
	if len(to.Events) >= maxEvents {
		to.DroppedEventsCount++
		return
	}
	to.Events = append(to.Events, &tracepb.Span_Event{
		TimeUnixNano: unixNano(p.at), Name: nameOf(p.event), Attributes: append(attributes(p.event), seenAttrs(p.event, p.seen)...),
	})
}

// cause makes the event of a cause: when its first evidence was recorded.
func (t *Tree) cause(f *cause.Finding) *tracepb.Span_Event {
	at := t.End
	if len(f.Evidence) > 0 && f.Evidence[0].Time.Before(at) {
		at = f.Evidence[0].Time
	}
	attrs := []*commonpb.KeyValue{
		attr("kubeloupe.cause.id", f.ID), attr("kubeloupe.cause.name", f.Name), attr("kubeloupe.cause.confidence", string(f.Confidence)),
		attr("kubeloupe.cause.cost_ns", int64(f.Cost)), attr("kubeloupe.cause.sentence", limit(f.Sentence)), attr("kubeloupe.cause.remedy", limit(f.Remedy)),
	}
	if f.Current {
		attrs = append(attrs, attr("kubeloupe.cause.current", true))
	}
	return &tracepb.Span_Event{TimeUnixNano: unixNano(at.UnixNano()), Name: f.ID + " " + f.Name, Attributes: attrs}
}

// subject are the attributes of the pod.
func (t *Tree) subject() (out []*commonpb.KeyValue) {
	for _, a := range []Attr{
		{string(semconv.K8SNamespaceNameKey), t.Pod.Namespace}, {string(semconv.K8SPodNameKey), t.Pod.Name}, {string(semconv.K8SPodUIDKey), t.Pod.UID},
	} {
		if a.Value != "" {
			out = append(out, attr(a.Key, clean(a.Value)))
		}
	}
	return out
}

// clean makes text fit to be an attribute.
func clean(v any) any {
	if s, ok := v.(string); ok {
		return limit(human.Line(s))
	}
	return v
}
