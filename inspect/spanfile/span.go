package spanfile

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"github.com/kubeloupe/kubeloupe/trace"
)

// span is a span of any format. Attributes are strings, int64, float64 or bool.
type span struct {
	id, parent trace.SpanID
	name       string
	service    string
	start, end int64 // Unix nanoseconds
	attrs      map[string]any
	resource   map[string]any
	events     []event
	failed     bool
	why        string
}

type event struct {
	at    int64
	attrs map[string]any
}

// text returns an attribute of the span, or of its resource.
func (s *span) text(key string) string {
	for _, in := range []map[string]any{s.attrs, s.resource} {
		if t, ok := in[key].(string); ok && t != "" {
			return t
		}
	}
	return ""
}

func (s *span) pod() trace.Pod {
	return trace.Pod{Namespace: s.text("k8s.namespace.name"), Name: s.text("k8s.pod.name"), UID: s.text("k8s.pod.uid")}
}

// idOf reads an id of n bytes: hexadecimal digits, fewer where zeros in front were left out, or base64, as protobuf's JSON has it.
func idOf(s string, n int) []byte {
	if len(s) <= 2*n {
		padded := make([]byte, 0, 2*n)
		for range 2*n - len(s) {
			padded = append(padded, '0')
		}
		if b, err := hex.DecodeString(string(append(padded, s...))); err == nil {
			return b
		}
	}
	if b, err := base64.StdEncoding.DecodeString(s); err == nil && len(b) == n {
		return b
	}
	return make([]byte, n)
}

func traceID(s string) trace.TraceID {
	b := idOf(s, 16)
	return trace.TraceID{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}
}

func spanID(s string) trace.SpanID { return trace.SpanID(binary.BigEndian.Uint64(idOf(s, 8))) }
