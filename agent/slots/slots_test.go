package slots

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestEarlierOrderGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		s, err := New("runtime", 1, rec.Bus())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, order := range []uint64{3, 1, 2} {
			go func() {
				if err := s.Acquire(t.Context(), order); err != nil {
					t.Error(err)
				}
				got = append(got, order)
				s.Release()
			}()
			synctest.Wait()
		}
		s.Release()
		synctest.Wait()
		if want := []uint64{1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("served in order %v, want %v", got, want)
		}
		if n := len(rec.OfKind("pod.wait")); n != 6 {
			t.Errorf("%d wait records, want begin and end of 3", n)
		}
	})
}

func TestCancelledWaiterLeavesNoHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New("runtime", 1, (*trace.Bus)(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- s.Acquire(ctx, 1) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		s.Release()
		if err := s.Acquire(t.Context(), 2); err != nil {
			t.Errorf("slot was lost: %v", err)
		}
	})
}

func TestNewRefusesNoSlots(t *testing.T) {
	if _, err := New("runtime", 0, nil); err == nil {
		t.Error("no error for zero slots")
	}
}
