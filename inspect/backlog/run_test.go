package backlog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestWhoAsksHurriesIt has a store that sleeps on a lazy cursor: who asks gets all there is, before Run as well as while it sleeps.
func TestWhoAsksHurriesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(1024)
		cursor := bus.Subscribe(trace.FromOldest)
		defer cursor.Close()
		cursor.Batch()
		k := backlog.New(backlog.Options{})
		trace.Point(bus, trace.Span{}, trace.Log{Message: "first"})
		early := make(chan uint64, 1)
		go func() {
			b, _ := k.Backlog(t.Context(), 1)
			early <- b.Seq
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx, cursor) }()
		if seq := <-early; seq != 1 {
			t.Errorf("who asked before Run was told of %d records", seq)
		}
		for range 5 {
			trace.Point(bus, trace.Span{}, trace.Log{Message: "more"})
		}
		synctest.Wait()
		if b, err := k.Backlog(t.Context(), 0); err != nil || b.Seq != 1 {
			t.Errorf("it woke up for nobody: %d records folded, %v", b.Seq, err)
		}
		if b, err := k.Backlog(t.Context(), bus.Seq()); err != nil || b.Seq != 6 || len(b.Records) != 6 {
			t.Errorf("%+v, %v", b, err)
		}
		trace.Point(bus, trace.Span{}, trace.Log{Message: "last"})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if b, err := k.Backlog(t.Context(), 7); err != nil || b.Seq != 7 {
			t.Errorf("what was unread at the end: %+v, %v", b, err)
		}
		if _, err := k.Backlog(t.Context(), 8); !errors.Is(err, backlog.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestTheEndIsToldToWhoWaits for a record that never comes.
func TestTheEndIsToldToWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(16)
		cursor := bus.Subscribe(trace.FromOldest)
		k := backlog.New(backlog.Options{})
		done := make(chan error, 1)
		go func() { done <- k.Run(t.Context(), cursor) }()
		waits := make(chan error, 1)
		go func() {
			_, err := k.Backlog(t.Context(), 1)
			waits <- err
		}()
		synctest.Wait()
		cursor.Close()
		if err := <-waits; !errors.Is(err, backlog.ErrEnded) {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
