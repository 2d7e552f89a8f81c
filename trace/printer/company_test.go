package printer

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// batches counts the records of each batch, and when it was flushed.
type batches struct {
	began time.Time
	n     int
	told  []told
}

type told struct {
	n  int
	at time.Duration
}

func (b *batches) Write(*trace.Record) error    { b.n++; return nil }
func (b *batches) Lost(uint64, time.Time) error { return nil }
func (b *batches) Flush() error {
	b.told = append(b.told, told{b.n, time.Since(b.began)})
	b.n = 0
	return nil
}

// TestCompany publishes nine records, 9 ms apart, and one after a quiet time.
func TestCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(64)
		cur := bus.Subscribe(trace.FromNow)
		ctx, cancel := context.WithCancel(t.Context())
		sink, done := &batches{began: time.Now()}, make(chan error, 1)
		go func() { done <- Run(ctx, cur, sink) }()
		synctest.Wait()
		publish := func() {
			trace.Point(bus, trace.Span{}, trace.Log{})
			synctest.Wait()
		}
		for range 9 {
			publish()
			time.Sleep(9 * time.Millisecond)
		}
		time.Sleep(time.Second)
		publish()
		publish()
		cancel() // what is there is written at once
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []told{{1, 0}, {5, company}, {3, 2 * company}, {1, 1081 * time.Millisecond}, {1, 1081 * time.Millisecond}}
		if !slices.Equal(sink.told, want) {
			t.Errorf("written: %v, want %v", sink.told, want)
		}
	})
}
