package export

import (
	"io"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestManyAtOnce: each of so many spans that continue at once looked at the lanes of all before it.
func TestManyAtOnce(t *testing.T) {
	tp := tape.New()
	for i := range 30_000 {
		tp.Begin(time.Duration(i), trace.Pod{}, 0, &trace.Loop{N: uint64(i)})
	}
	if err := Perfetto(io.Discard, tp.Recs, Options{}); err != nil {
		t.Fatal(err)
	}
}
