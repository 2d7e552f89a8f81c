package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Body is a message kept for inspection. It is rendered only when somebody looks.
type Body struct {
	m    json.Marshaler
	size int
}

// BodyOf keeps m, which takes size bytes in memory, with all that it points to. The caller must not change it afterwards and must have
// redacted its secrets. One that takes more than MaxBody is replaced, where it is published, by its size.
func BodyOf(m json.Marshaler, size int) Body { return Body{m: m, size: size} }

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
		*b = Body{}
		return nil
	}
	*b = BodyOf(json.RawMessage(bytes.Clone(p)), len(p))
	return nil
}

// Clipped is the key by which a body says that it is not whole.
const Clipped = "clipped"

// limit replaces a body that is too large. It is not part of MaxEvent.
func (b *Body) limit(l limiter) int {
	switch {
	case b.size <= MaxBody || l == look:
		return b.size
	case l == guess:
		return maxMark
	}
	*b = BodyOf(json.RawMessage(fmt.Appendf(nil, `{%q:"%d bytes"}`, Clipped, b.size)), maxMark)
	return b.size
}
