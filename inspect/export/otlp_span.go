package export

import (
	"cmp"
	"encoding/binary"
	"slices"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// otlpSpan makes a span. A parent in another trace becomes a link, as OpenTelemetry has it; one that is not exported
// is left out: it would look lost.
func otlpSpan(s *session, sp *span, progress []point) *tracepb.Span {
	out := otlpIdentity(s, sp.trace, sp.id, sp.parent)
	out.Name, out.Kind = nameOf(sp.event), kindOf(sp.event)
	out.StartTimeUnixNano, out.EndTimeUnixNano = unixNano(sp.start), unixNano(sp.end)
	out.Attributes = attrsOf(sp.event)
	if sp.open {
		out.Attributes = append(out.Attributes, attr("kubeloupe.open", true))
	}
	points := slices.Concat(sp.points, progress)
	sorting.Stable(points, func(a, b *point) int { return cmp.Compare(a.at, b.at) })
	for _, p := range points {
		out.Events = append(out.Events, &tracepb.Span_Event{TimeUnixNano: unixNano(p.at), Name: nameOf(p.event), Attributes: attrsOf(p.event)})
	}
	if why := trace.Failure(sp.event); why != "" && !sp.open {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: human.Line(why)}
	}
	return out
}

// otlpPoint makes a span without duration, for what no span has as its event.
func otlpPoint(s *session, p point) *tracepb.Span {
	out := otlpIdentity(s, p.trace, p.id, p.parent)
	out.Name, out.Kind = nameOf(p.event), tracepb.Span_SPAN_KIND_INTERNAL
	out.StartTimeUnixNano, out.EndTimeUnixNano = unixNano(p.at), unixNano(p.at)
	out.Attributes = attrsOf(p.event)
	return out
}

func otlpIdentity(s *session, t trace.TraceID, id, parent trace.SpanID) *tracepb.Span {
	out := &tracepb.Span{TraceId: traceID(t, id), SpanId: spanID(id), Flags: 1} // sampled
	switch up := s.by.Get(parent); {
	case parent == 0 || up == nil:
	case up.trace == t && !t.IsZero():
		out.ParentSpanId = spanID(parent)
	default: // as a loop iteration that causes a pod's sync
		out.Links = []*tracepb.Span_Link{{TraceId: traceID(up.trace, up.id), SpanId: spanID(up.id), Flags: 1}}
	}
	return out
}

func spanID(id trace.SpanID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

// traceID is never empty: where a stream has none, what hangs together is not known, and each span has its own.
func traceID(t trace.TraceID, id trace.SpanID) []byte {
	if t.IsZero() {
		t.Lo = uint64(id)
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, t.Hi), t.Lo)
}

func kindOf(e trace.Event) tracepb.Span_SpanKind {
	switch e.(type) {
	case *trace.CRICall, *trace.CSICall, *trace.APICall:
		return tracepb.Span_SPAN_KIND_CLIENT
	case *trace.ServerRequest:
		return tracepb.Span_SPAN_KIND_SERVER
	}
	return tracepb.Span_SPAN_KIND_INTERNAL
}

// attrsOf are an event's fields under our name, and under OpenTelemetry's where it has one.
func attrsOf(e trace.Event) []*commonpb.KeyValue {
	prefix, attrs := "kubeloupe.", []*commonpb.KeyValue{attr("kubeloupe.kind", e.Kind().String())}
	if _, ok := e.(*trace.RuntimeSpan); ok {
		prefix = "" // its attributes are what the runtime named them
	}
	for _, f := range fieldsOf(e) {
		attrs = append(attrs, attr(prefix+f.name, f.value))
	}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attr(key, limit(value)))
		}
	}
	switch e := e.(type) {
	case *trace.CRICall:
		add("rpc.system", "grpc")
		add("rpc.method", e.Method)
		add("container.id", e.Container)
		add("container.image.name", e.Image)
	case *trace.CSICall:
		if e.Flex || e.Program {
			break
		}
		add("rpc.system", "grpc")
		add("rpc.method", e.Method)
	case *trace.ImagePull:
		add("container.image.name", e.Image)
	case *trace.Action:
		add("k8s.container.name", e.Container)
	case *trace.ProbeAttempt:
		add("k8s.container.name", e.Container)
		add("container.id", e.ContainerID)
	case *trace.APICall:
		if e.Code != 0 {
			attrs = append(attrs, attr("http.response.status_code", int64(e.Code)))
		}
	}
	return attrs
}

func unixNano(t int64) uint64 { return uint64(max(t, 0)) }
