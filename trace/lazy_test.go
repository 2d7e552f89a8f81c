package trace

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestLazy counts the records of each read of a lazy reader with 64 slots.
func TestLazy(t *testing.T) {
	const slack = 64 / lazyShare
	publish := func(b *Bus, n int) {
		for range n {
			Point(b, Span{}, Log{})
		}
	}
	for name, c := range map[string]struct {
		script func(b *Bus, c *Cursor)
		want   []int
		// late has the reader begin after the script: else it may read between two records of it.
		late bool
	}{
		"within its slack": {script: func(b *Bus, _ *Cursor) { publish(b, slack) }},
		"one at a time": {script: func(b *Bus, _ *Cursor) {
			for range 2*slack + 2 {
				publish(b, 1)
				synctest.Wait()
			}
		}, want: []int{slack + 1, slack + 1}},
		"more than it takes at once": {script: func(b *Bus, _ *Cursor) { publish(b, 25) }, want: []int{10, 10, 5}, late: true},
		"hurried": {script: func(b *Bus, c *Cursor) {
			publish(b, 3)
			synctest.Wait()
			c.Flush()
			synctest.Wait()
			publish(b, slack)
		}, want: []int{3}},
		"hurried for nothing": {script: func(b *Bus, c *Cursor) {
			c.Flush()
			publish(b, slack)
			synctest.Wait()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := NewBus(64)
				cur := bus.Subscribe(FromNow)
				cur.Batch()
				ctx, cancel := context.WithCancel(t.Context())
				var got []int
				var last error
				done := make(chan struct{})
				if c.late {
					c.script(bus, cur)
				}
				go func() {
					defer close(done)
					for last == nil {
						var recs []Record
						if recs, _, last = cur.Next(ctx, make([]Record, 0, 10)); last == nil {
							got = append(got, len(recs))
						}
					}
				}()
				synctest.Wait()
				if !c.late {
					c.script(bus, cur)
				}
				synctest.Wait()
				read, want := len(got), len(c.want)
				for i := range min(read, want) {
					if got[i] != c.want[i] {
						t.Errorf("read %v, want %v", got, c.want)
					}
				}
				if read != want {
					t.Errorf("read %v, want %v", got, c.want)
				}
				cancel() // unread records come before the end
				<-done
				sum := 0
				for _, n := range got {
					sum += n
				}
				if !errors.Is(last, context.Canceled) || uint64(sum) != bus.Seq() {
					t.Errorf("%d of %d records, then %v", sum, bus.Seq(), last)
				}
			})
		})
	}
}

// TestLazyWithoutBus flushes a cursor that never yields anything, and a closed one.
func TestLazyWithoutBus(t *testing.T) {
	cur := (*Bus)(nil).Subscribe(FromOldest)
	cur.Batch()
	cur.Flush()
	cur.Close()
	closed := NewBus(8).Subscribe(FromNow)
	closed.Batch()
	closed.Close()
	closed.Flush()
	if _, _, err := closed.Next(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
