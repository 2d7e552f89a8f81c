package spanfile

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// resourceSpans is OTLP's, in protobuf's JSON. Tempo's older answers name the middle differently.
type resourceSpans struct {
	Resource struct {
		Attributes keyValues `json:"attributes"`
	} `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
	Older      []scopeSpans `json:"instrumentationLibrarySpans"`
}

type scopeSpans struct {
	Spans []otlpSpan `json:"spans"`
}

type otlpSpan struct {
	TraceID    string    `json:"traceId"`
	SpanID     string    `json:"spanId"`
	Parent     string    `json:"parentSpanId"`
	Name       string    `json:"name"`
	Start      integer   `json:"startTimeUnixNano"`
	End        integer   `json:"endTimeUnixNano"`
	Attributes keyValues `json:"attributes"`
	Events     []struct {
		At         integer   `json:"timeUnixNano"`
		Attributes keyValues `json:"attributes"`
	} `json:"events"`
	Status struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	} `json:"status"`
}

// integer is an int64 that JSON has as a number or as a string.
type integer int64

// UnmarshalJSON implements json.Unmarshaler.
func (i *integer) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 63)
	*i = integer(n)
	return err
}

// keyValues are attributes: a list of {"key": ..., "value": {"stringValue": ...}}.
type keyValues []struct {
	Key   string `json:"key"`
	Value struct {
		String *string         `json:"stringValue"`
		Int    json.RawMessage `json:"intValue"`
		Double *float64        `json:"doubleValue"`
		Bool   *bool           `json:"boolValue"`
	} `json:"value"`
}

func (kv keyValues) all() map[string]any {
	out := make(map[string]any, len(kv))
	for i := range kv {
		switch v := &kv[i].Value; {
		case v.String != nil:
			out[kv[i].Key] = *v.String
		case v.Bool != nil:
			out[kv[i].Key] = *v.Bool
		case v.Double != nil:
			out[kv[i].Key] = *v.Double
		case v.Int != nil:
			if n, err := strconv.ParseInt(strings.Trim(string(v.Int), `"`), 10, 64); err == nil {
				out[kv[i].Key] = n
			}
		}
	}
	return out
}

func (r *resourceSpans) spans(id trace.TraceID) (out []span) {
	var resource map[string]any
	for _, list := range [][]scopeSpans{r.ScopeSpans, r.Older} {
		for i := range list {
			for j := range list[i].Spans {
				in := &list[i].Spans[j]
				if traceID(in.TraceID) != id {
					continue
				}
				if resource == nil {
					resource = r.Resource.Attributes.all()
				}
				out = append(out, in.span(resource))
			}
		}
	}
	return out
}

func (in *otlpSpan) span(resource map[string]any) span {
	s := span{
		id: spanID(in.SpanID), parent: spanID(in.Parent), name: in.Name, start: int64(in.Start), end: int64(in.End), attrs: in.Attributes.all(),
		resource: resource, why: in.Status.Message,
	}
	s.service, _ = resource["service.name"].(string)
	code := strings.Trim(string(in.Status.Code), `"`)
	s.failed = code == "2" || code == "STATUS_CODE_ERROR"
	for i := range in.Events {
		s.events = append(s.events, event{at: int64(in.Events[i].At), attrs: in.Events[i].Attributes.all()})
	}
	return s
}
