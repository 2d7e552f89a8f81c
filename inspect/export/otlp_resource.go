package export

import (
	"iter"

	"github.com/kubeloupe/kubeloupe/trace/human"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// serviceName is ours, where OpenTelemetry wants to know who told.
const serviceName = "kubeloupe"

// source is who told spans, and about which pod.
type source struct {
	pod     trace.Pod
	service string
}

// resources yields the spans by source: the node first, then pods as they came.
func resources(s *session) iter.Seq[*tracepb.ResourceSpans] {
	return func(yield func(*tracepb.ResourceSpans) bool) {
		by := map[source][]*tracepb.Span{}
		services := map[trace.Pod][]string{}
		add := func(from source, sp *tracepb.Span) {
			if by[from] == nil {
				services[from.pod] = append(services[from.pod], from.service)
			}
			by[from] = append(by[from], sp)
		}
		progress := progressOf(s)
		for _, sp := range s.spans {
			from := source{pod: sp.pod, service: serviceName}
			if e, ok := sp.event.(*trace.RuntimeSpan); ok && e.Service != "" {
				from.service = human.Line(e.Service)
			}
			add(from, otlpSpan(s, sp, progress[sp]))
		}
		for _, p := range s.points {
			add(source{pod: p.pod, service: serviceName}, otlpPoint(s, p))
		}
		for _, pod := range s.pods() {
			for _, service := range services[pod] {
				from := source{pod: pod, service: service}
				if !yield(resourceOf(s, from, by[from])) {
					return
				}
				delete(by, from)
			}
		}
	}
}

func resourceOf(s *session, from source, spans []*tracepb.Span) *tracepb.ResourceSpans {
	attrs := []*commonpb.KeyValue{attr("service.name", from.service)}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attr(key, human.Line(value)))
		}
	}
	if from.service == serviceName {
		add("service.version", s.agent.Version)
	}
	add("k8s.node.name", s.agent.Node)
	add("k8s.namespace.name", from.pod.Namespace)
	add("k8s.pod.name", from.pod.Name)
	add("k8s.pod.uid", from.pod.UID)
	return &tracepb.ResourceSpans{
		Resource:   &resourcepb.Resource{Attributes: attrs},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "github.com/kubeloupe/kubeloupe"}, Spans: spans}},
	}
}

// progressOf returns how far pulls had come, by the pull's span. Other figures over time are not for traces.
func progressOf(s *session) map[*span][]point {
	out := map[*span][]point{}
	for _, p := range s.counts {
		if up := s.by.Get(p.parent); up != nil {
			out[up] = append(out[up], p)
		}
	}
	return out
}

func attr(key string, value any) *commonpb.KeyValue {
	v := &commonpb.AnyValue{}
	switch x := value.(type) {
	case string:
		v.Value = &commonpb.AnyValue_StringValue{StringValue: x}
	case int64:
		v.Value = &commonpb.AnyValue_IntValue{IntValue: x}
	case float64:
		v.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: x}
	case bool:
		v.Value = &commonpb.AnyValue_BoolValue{BoolValue: x}
	}
	return &commonpb.KeyValue{Key: key, Value: v}
}
