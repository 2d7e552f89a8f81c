package trace

import (
	"encoding/json"
	"strings"
	"testing"
)

// Size does not change a record, however large its body is.
func TestSizeChangesNothing(t *testing.T) {
	call := &CRICall{Request: BodyOf(json.RawMessage(`"`+strings.Repeat("x", MaxBody)+`"`), MaxBody+2)}
	r := Record{Event: call}
	if n := r.Size(); n > MaxBody {
		t.Errorf("%d bytes, want what it takes once it is published", n)
	}
	if text, err := call.Request.MarshalJSON(); err != nil || len(text) != MaxBody+2 {
		t.Errorf("%.100s, %v", text, err)
	}
}
