package image

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// admit waits for a place among the pulls and then for the registry's rate limit.
// Upstream fails a pull that exceeds the rate; here it waits its turn.
func (p *Puller) admit(ctx context.Context) (release func(), err error) {
	release = func() {}
	if p.slots != nil {
		if err := p.takeSlot(ctx); err != nil {
			return nil, err
		}
		release = func() { p.slots.Release(1) }
	}
	if err := p.takeToken(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (p *Puller) takeSlot(ctx context.Context) error {
	if p.slots.TryAcquire(1) {
		return nil
	}
	wait := trace.Wait{For: trace.WaitOtherPull, On: "a place among the pulls", Detail: fmt.Sprintf("%d at a time", p.limit)}
	sp := trace.Begin(p.bus, trace.FromContext(ctx), wait)
	defer trace.End(p.bus, sp, wait)
	return p.slots.Acquire(ctx, 1)
}

func (p *Puller) takeToken(ctx context.Context) error {
	r := p.tokens.Reserve()
	delay := r.Delay()
	if delay == 0 {
		return nil
	}
	wait := trace.Wait{
		For: trace.WaitTokens, On: "registryPullQPS",
		Detail: fmt.Sprintf("%v pulls a second, %d at once", float64(p.tokens.Limit()), p.tokens.Burst()),
	}
	sp := trace.Begin(p.bus, trace.FromContext(ctx), wait)
	defer trace.End(p.bus, sp, wait)
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		r.Cancel()
		return ctx.Err()
	}
}
