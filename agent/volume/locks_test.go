package volume

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One operation at a time holds a volume; the next one waits until its context ends.
func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		release, err := l.Take(t.Context(), nil, "d^h", "data")
		if err != nil {
			t.Fatal(err)
		}
		if other, err := l.Take(t.Context(), nil, "d^other", "data"); err != nil {
			t.Errorf("another volume: got %v, want its lock", err)
		} else {
			other()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Take(ctx, nil, "d^h", "data"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a locked volume: got %v, want the context's error", err)
		}
		next := make(chan func(), 1)
		go func() { give, _ := l.Take(t.Context(), nil, "d^h", "data"); next <- give }()
		synctest.Wait()
		release()
		(<-next)()
		if len(l.held) != 0 {
			t.Errorf("got %d locks after all were released, want 0", len(l.held))
		}
	})
}
