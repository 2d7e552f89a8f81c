package trace

import (
	"fmt"
	"math/rand/v2"
)

// TraceID is a W3C trace ID. The zero value means none.
type TraceID struct{ Hi, Lo uint64 }

// SpanID is a W3C parent ID. Zero means none.
type SpanID uint64

// NewTraceID returns a random, non-zero trace ID.
func NewTraceID() TraceID { return TraceID{Hi: rand.Uint64(), Lo: rand.Uint64() | 1} }

// NewSpanID returns a random, non-zero span ID.
func NewSpanID() SpanID { return SpanID(rand.Uint64() | 1) }

// IsZero reports whether the ID is unset.
func (t TraceID) IsZero() bool { return t == TraceID{} }

// String returns 32 hexadecimal digits.
func (t TraceID) String() string { return fmt.Sprintf("%016x%016x", t.Hi, t.Lo) }

// String returns 16 hexadecimal digits.
func (s SpanID) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// MarshalText implements encoding.TextMarshaler.
func (t TraceID) MarshalText() ([]byte, error) {
	return appendHex(appendHex(make([]byte, 0, 32), t.Hi), t.Lo), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *TraceID) UnmarshalText(b []byte) error {
	if len(b) != 32 {
		return fmt.Errorf("trace id %q: want 32 hexadecimal digits", b)
	}
	var err error
	if t.Hi, err = parseHex(b[:16]); err != nil {
		return err
	}
	t.Lo, err = parseHex(b[16:])
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (s SpanID) MarshalText() ([]byte, error) {
	return appendHex(make([]byte, 0, 16), uint64(s)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *SpanID) UnmarshalText(b []byte) error {
	if len(b) != 16 {
		return fmt.Errorf("span id %q: want 16 hexadecimal digits", b)
	}
	v, err := parseHex(b)
	*s = SpanID(v)
	return err
}

// Traceparent returns the W3C header value that makes a callee's spans children of this span, sampled; empty if the
// span has no IDs. See https://www.w3.org/TR/trace-context/#traceparent-header.
func (s Span) Traceparent() string {
	if s.Trace.IsZero() || s.ID == 0 {
		return ""
	}
	b := make([]byte, 0, 55)
	b = append(b, "00-"...)
	b = appendHex(appendHex(b, s.Trace.Hi), s.Trace.Lo)
	b = append(b, '-')
	b = appendHex(b, uint64(s.ID))
	return string(append(b, "-01"...))
}

func appendHex(dst []byte, v uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[v>>shift&0xf])
	}
	return dst
}

func parseHex(b []byte) (v uint64, err error) {
	for _, c := range b {
		var digit byte
		switch {
		case '0' <= c && c <= '9':
			digit = c - '0'
		case 'a' <= c && c <= 'f':
			digit = c - 'a' + 10
		case 'A' <= c && c <= 'F':
			digit = c - 'A' + 10
		default:
			return 0, fmt.Errorf("id %q: want hexadecimal digits", b)
		}
		v = v<<4 | uint64(digit)
	}
	return v, nil
}
