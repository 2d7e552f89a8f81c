package otlp

import (
	"errors"
	"fmt"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// decoded is the content of a request.
type decoded struct {
	spans   []span
	refused int
	why     string // the reason why a span was refused
}

// response returns the response with the refused spans, as the protocol requires.
func (d decoded) response() *collector.ExportTraceServiceResponse {
	if d.refused == 0 {
		return &collector.ExportTraceServiceResponse{}
	}
	return &collector.ExportTraceServiceResponse{
		PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: int64(d.refused), ErrorMessage: d.why},
	}
}

func (d *decoded) refuse(err error) {
	d.refused++
	d.why = err.Error()
}

var (
	errTooMany  = fmt.Errorf("more than %d spans in a request", maxSpans)
	errTooLarge = fmt.Errorf("a span of more than %d bytes", maxSpan)
)

// add decodes one span; unmarshal decodes its encoding.
func (d *decoded) add(raw []byte, service string, unmarshal func([]byte, proto.Message) error) {
	switch {
	case len(d.spans) >= maxSpans:
		d.refuse(errTooMany)
		return
	case len(raw) > maxSpan:
		d.refuse(errTooLarge)
		return
	}
	var pb tracepb.Span
	if err := unmarshal(raw, &pb); err != nil {
		d.refuse(fmt.Errorf("decode span: %w", err))
		return
	}
	s, err := spanOf(&pb, service)
	if err != nil {
		d.refuse(err)
		return
	}
	d.spans = append(d.spans, s)
}

// decode decodes a request, one span at a time: decoded as a whole, it could expand to a hundred times its size.
func decode(body []byte) (decoded, error) {
	var d decoded
	err := fields(body, 1, func(resourceSpans []byte) error {
		service := ""
		err := fields(resourceSpans, 1, func(raw []byte) error {
			service = serviceOf(raw, unmarshalProto)
			return nil
		})
		if err != nil {
			return err
		}
		return fields(resourceSpans, 2, func(scopeSpans []byte) error {
			return fields(scopeSpans, 2, func(raw []byte) error {
				d.add(raw, service, unmarshalProto)
				return nil
			})
		})
	})
	if err != nil {
		return decoded{}, fmt.Errorf("decode request: %w", err)
	}
	return d, nil
}

// fields calls f for each length-delimited field with the given number.
func fields(b []byte, number protowire.Number, f func([]byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if num == number && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			if err := f(v); err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}

func unmarshalProto(raw []byte, m proto.Message) error {
	return proto.UnmarshalOptions{RecursionLimit: 32, DiscardUnknown: true}.Unmarshal(raw, m)
}

// serviceOf returns service.name of an encoded resource, "" if it has none.
func serviceOf(raw []byte, unmarshal func([]byte, proto.Message) error) string {
	var res resource.Resource
	if len(raw) > maxSpan || unmarshal(raw, &res) != nil {
		return ""
	}
	for _, kv := range res.GetAttributes() {
		if kv.GetKey() == "service.name" {
			return cut(text(kv.GetValue()), maxKey)
		}
	}
	return ""
}

var errNoID = errors.New("a span without valid ids")
