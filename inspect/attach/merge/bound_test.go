package merge_test

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/order"
	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestStandingInput has the time of an input not advance while another one gives records without end, large or small: few wait, and the others
// come out in their order.
func TestStandingInput(t *testing.T) {
	for name, c := range map[string]struct{ size, records, most int }{
		"large": {1 << 20, 3 * order.MaxBytes / (4 << 10), order.MaxBytes / (4 << 10)}, // a text is cut to 4 KiB
		"small": {1, 1 << 17, 1 << 15},
	} {
		t.Run(name, func(t *testing.T) {
			m := merge.New(merge.Options{})
			m.Input()
			in := m.Input()
			text := strings.Repeat("x", c.size)
			waiting, last := 0, int64(0)
			for n := range c.records {
				in.Put(trace.Record{Time: int64(n + 1), Event: &trace.Log{Message: text}})
				waiting++
				for r, _, ok := m.Next(); ok; r, _, ok = m.Next() {
					if r.Time < last {
						t.Fatalf("%d comes after %d", r.Time, last)
					}
					last = r.Time
					waiting--
				}
				if waiting > c.most+1 {
					t.Fatalf("%d records wait, want at most %d", waiting, c.most)
				}
			}
		})
	}
}
