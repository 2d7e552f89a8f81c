package image

import (
	"context"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// pace is how long a pull may make no progress while others wait for its slot. Where pulls usually take minutes, the
// limit is longer.
func pace() semaphore.Pace {
	return semaphore.Pace{Floor: 20 * time.Second, Unknown: 30 * time.Second, Ceiling: 2 * time.Minute}
}

// admit waits for a slot among the pulls and then for the registry's rate limit. Upstream fails a pull that exceeds the
// rate; here it waits.
//
// Registries have equal shares of the slots, and a registry with a hung pull has a smaller one, so that a registry that
// does not respond does not delay images of others. The returned work may be nil.
func (p *Puller) admit(ctx context.Context, image string) (*semaphore.Work, error) {
	var work *semaphore.Work
	if p.slots != nil {
		host := registryOf(image)
		turn := semaphore.Turn{Class: host, Pod: trace.FromContext(ctx).Pod, Slow: p.slots.Hangs(host)}
		var err error
		if work, err = p.slots.Enter(ctx, turn, "pull "+host); err != nil {
			return nil, err
		}
	}
	if err := p.takeToken(ctx); err != nil {
		leave(work, false)
		return nil, err
	}
	return work, nil
}

// registryOf returns the registry's host of an image, for example docker.io.
func registryOf(image string) string {
	name, err := ParseName(image)
	if err != nil {
		return image // cannot happen: it was parsed before
	}
	host, _, _ := strings.Cut(name.Repository, "/")
	return host
}

// leave releases a slot. well says that the pull succeeded.
func leave(w *semaphore.Work, well bool) {
	if w != nil {
		w.Leave(well)
	}
}

func (p *Puller) takeToken(ctx context.Context) error {
	r := p.tokens.Reserve()
	delay := r.Delay()
	if delay == 0 {
		return nil
	}
	wait := trace.Wait{
		For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetRegistry}, Every: time.Duration(float64(time.Second) / float64(p.tokens.Limit())), Burst: p.tokens.Burst(),
		Until: time.Now().Add(delay).UnixNano(),
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
