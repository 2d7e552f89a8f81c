package spanfile

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// jaegerTrace is a trace of Jaeger's JSON, which its API answers with and its UI downloads. Times are in microseconds.
type jaegerTrace struct {
	Spans     []jaegerSpan `json:"spans"`
	Processes map[string]struct {
		Service string     `json:"serviceName"`
		Tags    jaegerTags `json:"tags"`
	} `json:"processes"`
}

type jaegerSpan struct {
	TraceID    string `json:"traceID"`
	SpanID     string `json:"spanID"`
	Name       string `json:"operationName"`
	References []struct {
		Type    string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	} `json:"references"`
	Start   int64      `json:"startTime"`
	Dur     int64      `json:"duration"`
	Tags    jaegerTags `json:"tags"`
	Process string     `json:"processID"`
	Logs    []struct {
		At     int64      `json:"timestamp"`
		Fields jaegerTags `json:"fields"`
	} `json:"logs"`
}

type jaegerTags []struct {
	Key   string          `json:"key"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func (t jaegerTags) all() map[string]any {
	out := make(map[string]any, len(t))
	for i := range t {
		raw := t[i].Value
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		switch t[i].Type {
		case "int64":
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				out[t[i].Key] = n
			}
		case "float64":
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				out[t[i].Key] = n
			}
		case "bool":
			out[t[i].Key] = text == "true"
		default:
			out[t[i].Key] = text
		}
	}
	return out
}

// maxMicros is the last time in microseconds that is one in nanoseconds.
const maxMicros = 1<<63/1000 - 1

func (t *jaegerTrace) spans(id trace.TraceID) (out []span) {
	resources := map[string]map[string]any{}
	for i := range t.Spans {
		in := &t.Spans[i]
		if traceID(in.TraceID) != id || in.Start < 0 || in.Dur < 0 || in.Start > maxMicros-min(in.Dur, maxMicros) {
			continue
		}
		if resources[in.Process] == nil {
			resources[in.Process] = t.Processes[in.Process].Tags.all()
		}
		s := span{
			id: spanID(in.SpanID), name: in.Name, service: t.Processes[in.Process].Service, start: in.Start * 1000, end: (in.Start + in.Dur) * 1000,
			attrs: in.Tags.all(), resource: resources[in.Process],
		}
		for _, ref := range in.References {
			if ref.Type == "CHILD_OF" && traceID(ref.TraceID) == id {
				s.parent = spanID(ref.SpanID)
			}
		}
		failed, _ := s.attrs["error"].(bool)
		s.failed = failed || strings.EqualFold(s.text("otel.status_code"), "ERROR")
		s.why = s.text("otel.status_description")
		for j := range in.Logs {
			if at := in.Logs[j].At; at >= 0 && at <= maxMicros {
				s.events = append(s.events, event{at: at * 1000, attrs: in.Logs[j].Fields.all()})
			}
		}
		out = append(out, s)
	}
	return out
}
