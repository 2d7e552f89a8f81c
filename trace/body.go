package trace

import (
	"bytes"
	"encoding/json"
)

// Body is a message kept for inspection. It is rendered only when somebody
// looks, so keeping one costs a pointer.
type Body struct{ m json.Marshaler }

// BodyOf keeps m. The caller must not change it afterwards and must have
// redacted its secrets.
func BodyOf(m json.Marshaler) Body { return Body{m: m} }

// IsZero reports whether nothing was kept.
func (b Body) IsZero() bool { return b.m == nil }

// MarshalJSON implements json.Marshaler.
func (b Body) MarshalJSON() ([]byte, error) {
	if b.m == nil {
		return []byte("null"), nil
	}
	return b.m.MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Body) UnmarshalJSON(p []byte) error {
	if bytes.Equal(p, []byte("null")) {
		b.m = nil
		return nil
	}
	b.m = json.RawMessage(bytes.Clone(p))
	return nil
}
