package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Body is a message that is kept for inspection. It is rendered when it is read.
type Body struct {
	m    json.Marshaler
	size int
}

// BodyOf keeps m, which needs size bytes in memory, with everything that it references. The caller must have redacted
// its secrets and must not change it afterwards. If it needs more than MaxBody, only its size is published.
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

// limit replaces a body that is too large. Its size does not count toward MaxEvent.
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
