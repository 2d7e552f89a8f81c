package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonRequest is the outer structure of a request; spans are decoded later, one at a time.
type jsonRequest struct {
	ResourceSpans []struct {
		Resource   json.RawMessage `json:"resource"`
		ScopeSpans []struct {
			Spans []json.RawMessage `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

func decodeJSON(body []byte) (decoded, error) {
	var req jsonRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return decoded{}, fmt.Errorf("decode request: %w", err)
	}
	var d decoded
	for _, rs := range req.ResourceSpans {
		service := serviceOf(rs.Resource, unmarshalJSON)
		for _, ss := range rs.ScopeSpans {
			for _, raw := range ss.Spans {
				d.add(raw, service, unmarshalJSON)
			}
		}
	}
	return d, nil
}

func unmarshalJSON(raw []byte, m proto.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 64}).Unmarshal(raw, m); err != nil {
		return err
	}
	if s, ok := m.(*tracepb.Span); ok {
		s.TraceId, s.SpanId, s.ParentSpanId = unhex(s.TraceId), unhex(s.SpanId), unhex(s.ParentSpanId)
	}
	return nil
}

// unhex fixes an id. OTLP's JSON has ids in hexadecimal where protobuf's has base64;
// hexadecimal digits are base64 digits too, so encoding again gives back the text.
func unhex(b []byte) []byte {
	id, err := hex.DecodeString(base64.StdEncoding.EncodeToString(b))
	if err != nil {
		return nil
	}
	return id
}
