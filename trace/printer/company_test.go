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
	lost  uint64
}

type told struct {
	n  int
	at time.Duration
}

func (b *batches) Write(*trace.Record) error        { b.n++; return nil }
func (b *batches) Lost(n uint64, _ time.Time) error { b.lost += n; return nil }
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

// TestMuchCompany publishes more records within company than the ring holds, and more at once than a batch holds: none is lost, and they do not
// wait.
func TestMuchCompany(t *testing.T) {
	for name, c := range map[string]struct{ ring, bursts, each int }{"a small ring": {64, 200, 1}, "large bursts": {1 << 12, 4, 3000}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := trace.NewBus(c.ring)
				cur := bus.Subscribe(trace.FromNow)
				ctx, cancel := context.WithCancel(t.Context())
				sink, done := &batches{began: time.Now()}, make(chan error, 1)
				go func() { done <- Run(ctx, cur, sink) }()
				synctest.Wait()
				for range c.bursts {
					for range c.each {
						trace.Point(bus, trace.Span{}, trace.Log{})
					}
					synctest.Wait()
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				written := 0
				for _, b := range sink.told {
					written += b.n
				}
				if last := sink.told[len(sink.told)-1]; sink.lost > 0 || written != c.bursts*c.each || last.at != 0 {
					t.Errorf("%d written, the last after %v, %d lost", written, last.at, sink.lost)
				}
			})
		})
	}
}
