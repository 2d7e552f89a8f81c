package ship

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// firstRetry is how long a request that failed is left alone at first, maxRetry at most. Half of it is random.
	firstRetry = time.Second
	maxRetry   = time.Minute
	// oneSend is how long a request may take.
	oneSend = 10 * time.Second
)

// sender sends what is in a queue, one request at a time.
type sender struct {
	queue  *queue
	up     Uploader
	change func() // called when what tell returns has changed
	most   int    // bytes of a request
	opener opener // of the goroutine that sends

	mu   sync.Mutex
	told told
}

// told is what is known of sending.
type told struct {
	sent, refused uint64
	failing       bool
	err           string
	flying        int // spans of the request that is being made, or tried again
}

// run sends until ctx ends, then until last ends or nothing is left. What is left then is dropped.
func (s *sender) run(ctx, last context.Context) {
	for {
		p, ok := s.queue.next(ctx)
		if !ok {
			break
		}
		s.send(ctx, last, p)
	}
	for last.Err() == nil {
		p := s.queue.take()
		if p.n == 0 {
			break
		}
		s.send(last, last, p)
	}
	s.queue.abandon()
}

// send sends a parcel until it is sent, refused, or nothing may be sent any more. Once ctx has ended, it tries once more. While answers do not
// come in time, it sends smaller pieces: the receiver or the way to it is slow.
func (s *sender) send(ctx, last context.Context, p parcel) {
	defer s.set(func(t *told) { t.flying = 0 })
	wait := firstRetry
	for p.n > 0 {
		s.set(func(t *told) { t.flying = p.n })
		piece, rest := p.cut(s.most)
		one, cancel := context.WithTimeout(last, oneSend)
		out := s.up.Upload(one, s.opener.open(piece))
		cancel()
		switch {
		case out.Err == nil:
			s.note(func(t *told) {
				t.failing, t.err, t.flying = out.Rejected > 0, out.Why, rest.n
				t.sent += uint64(max(int64(piece.n)-max(out.Rejected, 0), 0))
				t.refused += uint64(min(max(out.Rejected, 0), int64(piece.n)))
			})
			p, wait, s.most = rest, firstRetry, min(s.most+s.most/4, maxSendBytes)
			continue
		case !out.Retry:
			s.note(func(t *told) {
				t.failing, t.err, t.refused, t.flying = true, out.Err.Error(), t.refused+uint64(piece.n), rest.n
			})
			p, wait = rest, firstRetry
			continue
		case out.Late:
			s.most = max(min(s.most, piece.bytes)/2, minSendBytes)
		}
		s.note(func(t *told) {
			if t.failing = true; last.Err() == nil || t.err == "" { // a request that the end cuts off does not tell what is wrong
				t.err = out.Err.Error()
			}
		})
		if !pause(ctx, last, max(wait/2+rand.N(wait/2), min(out.After, maxRetry))) {
			s.lose(p)
			return
		}
		wait = min(2*wait, maxRetry)
	}
}

// pause waits; the end of ctx ends that, and later waits are short. It returns false when last ends.
func pause(ctx, last context.Context, d time.Duration) bool {
	ended := ctx.Done()
	if ctx.Err() != nil {
		ended, d = nil, min(d, firstRetry/2)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-last.Done():
	case <-ended:
	}
	return last.Err() == nil
}

func (s *sender) lose(p parcel) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.dropped += uint64(p.n)
}

// note changes what is known, and says so.
func (s *sender) note(f func(*told)) {
	s.set(f)
	s.change()
}

func (s *sender) set(f func(*told)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.told)
}

func (s *sender) tell() told {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}
