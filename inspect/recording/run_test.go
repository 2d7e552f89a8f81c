package recording

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestRunWritesWithinASecond(t *testing.T) {
	p := path(t)
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(0)
		w, err := Create(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx, bus.Subscribe(trace.FromNow)) }()
		synctest.Wait()
		trace.Point(bus, trace.Span{}, trace.Log{Level: "info", Message: "one"})
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if items, info := read(t, p); len(items) != 1 || info.Torn {
			t.Errorf("%d records after a second", len(items))
		}
		trace.Point(bus, trace.Span{}, trace.Log{Level: "info", Message: "two"})
		cancel() // what is there is still taken
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Write(nil, 0); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if items, _ := read(t, p); len(items) != 2 {
			t.Errorf("%d records in the end", len(items))
		}
	})
}

// TestRunTellsLost: a bus that was too quick for the recorder.
func TestRunTellsLost(t *testing.T) {
	p, bus := path(t), trace.NewBus(64)
	cur := bus.Subscribe(trace.FromNow)
	for range 100 {
		trace.Point(bus, trace.Span{}, trace.Log{Level: "info", Message: "quick"})
	}
	w, err := Create(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(w.Run(ctx, cur), w.Close()); err != nil {
		t.Fatal(err)
	}
	if items, info := read(t, p); len(items) != 64 || items[0].Lost != 36 || info.Lost != 36 {
		t.Errorf("%d records, %+v", len(items), info)
	}
}
