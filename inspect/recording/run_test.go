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
		trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "one"})
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if items, info := read(t, p); len(items) != 1 || info.Torn {
			t.Errorf("%d records after a second", len(items))
		}
		trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "two"})
		cancel() // the available records are still read
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

// oneByOne yields a record at a time, and then waits.
type oneByOne struct{ recs []trace.Record }

func (s *oneByOne) Next(ctx context.Context, buf []trace.Record) ([]trace.Record, uint64, error) {
	if len(s.recs) == 0 {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	r := s.recs[0]
	s.recs = s.recs[1:]
	return append(buf[:0], r), 0, nil
}

// TestRunCatchesUp: the beginning of an agent's stream is read without pauses, and a recording that ends soon has all
// of it.
func TestRunCatchesUp(t *testing.T) {
	p := path(t)
	synctest.Test(t, func(t *testing.T) {
		src := &oneByOne{}
		for range 1000 {
			src.recs = append(src.recs, trace.Record{Time: time.Now().UnixNano(), Event: &trace.Log{Level: trace.LevelInfo, Message: "before"}})
		}
		time.Sleep(time.Minute)
		src.recs = append(src.recs, trace.Record{Time: time.Now().UnixNano(), Event: &trace.Log{Level: trace.LevelInfo, Message: "now"}})
		w, err := Create(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), pace)
		defer cancel()
		if err := errors.Join(w.Run(ctx, src), w.Close()); err != nil {
			t.Fatal(err)
		}
		if items, _ := read(t, p); len(items) != 1001 {
			t.Errorf("%d of 1001 records", len(items))
		}
	})
}

// TestRunTellsLost: a bus that is too fast for the recorder.
func TestRunTellsLost(t *testing.T) {
	p, bus := path(t), trace.NewBus(64)
	cur := bus.Subscribe(trace.FromNow)
	for range 100 {
		trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "quick"})
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
