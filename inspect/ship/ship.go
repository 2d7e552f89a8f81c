package ship

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Shipper makes trees of spans of what is on a bus, and sends them. Use New to create one.
type Shipper struct {
	cfg    Config
	queue  *queue
	sender *sender

	// What follows is that of the goroutine that reads the bus.
	began  time.Time // what ended before was another Shipper's: attach begins with the last minutes
	kept   *session.Session
	starts map[trace.Pod]*starting
	due    []due
	gcs    collector
	rate   *rate.Limiter // of syncs
	small  squeezer

	skipped atomic.Uint64 // starts and syncs of which no tree was made
	changed chan struct{} // has one element when counts have changed
}

// New returns a Shipper.
func New(cfg Config) *Shipper {
	s := &Shipper{
		cfg: cfg.withDefaults(), queue: newQueue(), starts: map[trace.Pod]*starting{}, gcs: collector{}, rate: rate.NewLimiter(rate.Every(syncEvery), syncBurst),
		kept: session.Of(store.New(store.Policy{
			Runs: maxDue, Over: 128, First: 1500, Newest: 500, Earlier: 500, Node: 4096, Open: 8192, Traces: 8192, Straight: true,
		})),
		changed: make(chan struct{}, 1),
	}
	s.sender = &sender{queue: s.queue, up: cfg.Uploader, change: s.wake, most: maxSendBytes}
	return s
}

// wake says that counts have changed.
func (s *Shipper) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Run follows the bus and sends until ctx ends. Then it sends what there is, within Config.Flush.
func (s *Shipper) Run(ctx context.Context) error {
	s.began = time.Now()
	cur := s.cfg.Bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	cur.Batch() // nothing hurries
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	sending, stop := context.WithCancel(last)
	defer stop()
	var sender, reporter sync.WaitGroup
	ended := make(chan struct{})
	if s.cfg.Uploader != nil {
		sender.Go(func() { s.sender.run(sending, last) })
		reporter.Go(func() { s.report(ended) })
	}
	err := s.follow(ctx, cur)
	defer time.AfterFunc(s.cfg.Flush, cancel).Stop()
	stop()
	sender.Wait()
	close(ended)
	reporter.Wait()
	return err
}

// follow reads the bus until ctx ends, then makes the trees of what has ended.
func (s *Shipper) follow(ctx context.Context, cur *trace.Cursor) error {
	buf := make([]trace.Record, 0, 256)
	for {
		wait, cancel := context.WithTimeout(ctx, tick)
		recs, lost, err := cur.Next(wait, buf)
		cancel()
		for {
			s.apply(recs, lost)
			if recs, lost = cur.Poll(buf); len(recs) == 0 && lost == 0 {
				break
			}
		}
		switch {
		case ctx.Err() != nil || errors.Is(err, trace.ErrClosed):
			s.makeLast()
			return nil
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("read records to send spans: %w", err)
		}
		s.makeDue(ctx, cur, buf)
		s.makeRoom()
	}
}

// makeDue makes what is due. Each tree may take some milliseconds, so the bus is read between two, and three times as long is left to
// others: pods that start need the processor now.
func (s *Shipper) makeDue(ctx context.Context, cur *trace.Cursor, buf []trace.Record) {
	now := time.Now()
	for i := 0; i < len(s.due) && ctx.Err() == nil; {
		d := s.due[i]
		if d.at.After(now) {
			i++
			continue
		}
		s.due = append(s.due[:i:i], s.due[i+1:]...)
		began := time.Now()
		s.make(d)
		time.Sleep(min(3*time.Since(began), time.Second))
		for recs, lost := cur.Poll(buf); len(recs) > 0 || lost > 0; recs, lost = cur.Poll(buf) {
			s.apply(recs, lost)
		}
	}
}

// makeLast makes what waits, within Config.Flush: the end of the program does not wait for all of many.
func (s *Shipper) makeLast() {
	began := time.Now()
	for i, d := range s.due {
		if time.Since(began) > s.cfg.Flush {
			s.skipped.Add(uint64(len(s.due) - i))
			s.wake()
			return
		}
		s.make(d)
	}
}

// makeRoom keeps the records within their limit: those of finished starts are dropped first, then those of the starts that have most.
func (s *Shipper) makeRoom() {
	if s.kept.Bytes() <= maxStore {
		return
	}
	s.kept.Halve(func(trace.Pod) bool { return true })
	runs := slices.Clone(s.kept.Runs())
	slices.SortStableFunc(runs, func(a, b *store.PodRun) int {
		if starts := s.starts[a.Pod] != nil; starts != (s.starts[b.Pod] != nil) {
			if starts {
				return 1
			}
			return -1
		}
		return cmp.Compare(s.kept.BytesOf(b.Pod), s.kept.BytesOf(a.Pod))
	})
	for _, l := range runs {
		if s.starts[l.Pod] != nil && s.kept.Bytes() <= maxStore/2 {
			return
		}
		s.kept.Cut(l.Pod)
	}
}

// ship queues a tree.
func (s *Shipper) ship(t *export.Tree, urgent bool) {
	if s.cfg.Uploader == nil {
		return
	}
	t.Node, t.Version = s.cfg.Node, s.cfg.Version
	for most := maxTree; ; most /= 2 {
		spans, n := t.Spans(most)
		p := parcelOf(spans, n, urgent)
		if p.bytes <= 2*maxSendBytes || most < 8 {
			if s.queue.long() { // it will wait
				s.small.squeeze(&p)
			}
			s.queue.put(p)
			break
		}
	}
	s.wake()
}
