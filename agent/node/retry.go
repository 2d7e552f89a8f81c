package node

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 7 * time.Second
)

// backoff is the pause before something is tried again: twice as long each time.
type backoff struct{ next time.Duration }

// wait pauses because of err. It returns early, with nil, when wake gets something.
func (b *backoff) wait(ctx context.Context, bus *trace.Bus, on trace.TargetKind, err error, wake <-chan struct{}) error {
	if b.next == 0 {
		b.next = firstBackoff
	}
	d := b.next + rand.N(b.next/5)
	b.next = min(2*b.next, maxBackoff)
	w := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: on}, Cause: err.Error(), Until: time.Now().Add(d).UnixNano()}
	span := trace.Begin(bus, trace.FromContext(ctx), w)
	defer trace.End(bus, span, w)
	return sleep(ctx, d, wake)
}

func (b *backoff) reset() { b.next = 0 }

// sleep waits for d, or until wake gets something.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// jitter adds up to 4 per cent.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/25+1) }
