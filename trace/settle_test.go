package trace

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSettle waits for a lazy reader that takes a second for each batch.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		published int
		script    func(b *Bus, c *Cursor, end context.CancelFunc) // while Settle waits
		want      error
		read      int64
		took      time.Duration
	}{
		"nothing is unread":          {},
		"some records are unread":    {published: 3, read: 3, took: time.Second},
		"more than it takes at once": {published: 7, read: 7, took: 2 * time.Second},
		"later ones do not count": {published: 3, read: 3, took: time.Second, script: func(b *Bus, _ *Cursor, _ context.CancelFunc) {
			Point(b, Span{}, Log{})
		}},
		"its caller stops waiting": {published: 3, script: func(_ *Bus, _ *Cursor, end context.CancelFunc) { end() }, want: context.Canceled},
		"it is closed":             {published: 3, script: func(_ *Bus, c *Cursor, _ context.CancelFunc) { c.Close() }, want: ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := NewBus(64)
				cur := bus.Subscribe(FromNow)
				cur.Batch()
				var read atomic.Int64
				done := make(chan struct{})
				go func() {
					defer close(done)
					buf := make([]Record, 0, 4)
					for {
						recs, _, err := cur.Next(t.Context(), buf)
						if err != nil {
							return
						}
						time.Sleep(time.Second)
						read.Add(int64(len(recs)))
					}
				}()
				for range c.published {
					Point(bus, Span{}, Log{})
				}
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.script != nil {
					go func() {
						time.Sleep(time.Second / 2)
						c.script(bus, cur, cancel)
					}()
				}
				began := time.Now()
				if err := cur.Settle(ctx); !errors.Is(err, c.want) {
					t.Errorf("settled with %v, want %v", err, c.want)
				}
				if c.want == nil && (read.Load() != c.read || time.Since(began) != c.took) {
					t.Errorf("%d read after %v, want %d after %v", read.Load(), time.Since(began), c.read, c.took)
				}
				cur.Close()
				<-done
			})
		})
	}
}

func TestSettleWithoutBus(t *testing.T) {
	if err := (*Bus)(nil).Subscribe(FromNow).Settle(t.Context()); err != nil {
		t.Error(err)
	}
}
