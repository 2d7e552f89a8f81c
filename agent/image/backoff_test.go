package image

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Failed pulls expire even if no pull ever succeeds, and a registry's error is clipped.
func TestBackoffForgets(t *testing.T) {
	var b backoff
	now := time.Unix(1e9, 0)
	for i := range 1000 {
		now = now.Add(time.Minute)
		b.fail(target{"uid", fmt.Sprint("image-", i)}, now, now, strings.Repeat("x", 1<<20))
	}
	if n := len(b.all); n > 11 {
		t.Errorf("%d are remembered, want those of the last ten minutes", n)
	}
	for _, a := range b.all {
		if len(a.err) > maxError {
			t.Fatalf("an error of %d bytes is kept", len(a.err))
		}
	}
}
