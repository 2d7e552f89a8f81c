package export

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// OTLP writes records as OpenTelemetry's TracesData in protobuf, which collectors accept in requests and in files. Ids are the
// records' ids. Spans of the runtime keep the name of the service that sent them.
func OTLP(w io.Writer, recs []trace.Record, opt Options) error {
	out := bufio.NewWriter(w)
	for rs := range resources(fold(recs, opt)) {
		// One message for each resource, one after the other: protobuf takes them as one message.
		b, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{rs}})
		if err != nil {
			return fmt.Errorf("write OTLP: %w", err)
		}
		_, _ = out.Write(b) // a bufio.Writer remembers its error until Flush
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write OTLP: %w", err)
	}
	return nil
}

// OTLPJSON is OTLP in the JSON encoding, one resource to a line.
func OTLPJSON(w io.Writer, recs []trace.Record, opt Options) error {
	out := bufio.NewWriter(w)
	before := `{"resourceSpans":[`
	for rs := range resources(fold(recs, opt)) {
		b, err := otlpJSON(rs)
		if err != nil {
			return fmt.Errorf("write OTLP as JSON: %w", err)
		}
		_, _ = out.WriteString(before + "\n")
		_, _ = out.Write(b)
		before = ","
	}
	if before != "," {
		_, _ = out.WriteString(before)
	}
	_, _ = out.WriteString("\n]}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write OTLP as JSON: %w", err)
	}
	return nil
}

// otlpJSON encodes as OTLP wants it: protobuf's JSON, but ids in hexadecimal and enums as numbers.
func otlpJSON(rs *tracepb.ResourceSpans) ([]byte, error) {
	raw, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(rs)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	for span := range spansOf(tree) {
		if err := hexIDs(span); err != nil {
			return nil, err
		}
		links, _ := span["links"].([]any)
		for _, l := range links {
			if l, ok := l.(map[string]any); ok {
				if err := hexIDs(l); err != nil {
					return nil, err
				}
			}
		}
	}
	b, err := json.Marshal(tree)
	return human.JSON(b), err
}

// hexIDs rewrites the ids of a span or link.
func hexIDs(of map[string]any) error {
	for _, id := range []string{"traceId", "spanId", "parentSpanId"} {
		s, ok := of[id].(string)
		if !ok {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return fmt.Errorf("field %s: %w", id, err)
		}
		of[id] = hex.EncodeToString(b)
	}
	return nil
}

// spansOf finds the spans of a resource in JSON.
func spansOf(resource map[string]any) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		scopes, _ := resource["scopeSpans"].([]any)
		for _, scope := range scopes {
			scope, _ := scope.(map[string]any)
			spans, _ := scope["spans"].([]any)
			for _, span := range spans {
				if span, ok := span.(map[string]any); ok && !yield(span) {
					return
				}
			}
		}
	}
}
