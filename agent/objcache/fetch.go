package objcache

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The API server lets a node read an object when it has seen the pod that refers to it. The node may have seen the pod
// first.
const (
	firstRefusal = 10 * time.Millisecond
	lastRefusal  = 2 * time.Second // in total
)

// fetch starts a fetch of the object, unless one is running. It reports whether one is running. Called with mu.
func (c *Objects) fetch(it *item, span trace.Span) bool {
	if it.fetching {
		return true
	}
	it.done = make(chan struct{})
	it.fetching = c.start(func() { c.doFetch(it, span) })
	return it.fetching
}

func (c *Objects) doFetch(it *item, span trace.Span) {
	c.mu.Lock()
	target, before, began := it.want, it.obj, time.Now()
	c.mu.Unlock()
	obj, err := c.ask(trace.ContextWith(c.life, span), it.key)

	c.mu.Lock()
	it.fetching, it.err = false, err
	var tell map[types.UID][]string
	if err == nil {
		// A response that there is no object may be older than what a watch has delivered since.
		if (obj != nil || it.obj == before) && it.learn(obj) {
			tell = it.audience()
		}
		c.discloseAll(it)
		it.have, it.asOf = max(it.have, target), began
		c.watch(it)
	}
	close(it.done)
	if it.have < it.want && err == nil && c.items[it.key] == it {
		c.fetch(it, span) // a new registration meanwhile
	}
	c.mu.Unlock()
	c.tell(tell)
}

// ask requests the object, nil if there is none.
func (c *Objects) ask(ctx context.Context, k key) (metav1.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	began := time.Now()
	for pauses := backoff.Doubling(firstRefusal, lastRefusal); ; {
		delay := pauses.Duration
		obj, err := c.request(ctx, k)
		switch {
		case err == nil:
			return obj, nil
		case apierrors.IsNotFound(err):
			return nil, nil
		case !apierrors.IsForbidden(err) || time.Since(began)+delay > lastRefusal:
			return nil, err
		}
		wait := trace.Wait{For: trace.WaitBackoff, Target: k.target(), Until: time.Now().Add(delay).UnixNano()}.WithCause(err.Error())
		span := trace.Begin(c.cfg.Bus, trace.FromContext(ctx), wait)
		pause(ctx, pauses.Step())
		trace.End(c.cfg.Bus, span, wait)
	}
}

func (c *Objects) request(ctx context.Context, k key) (metav1.Object, error) {
	core := c.cfg.Client.CoreV1()
	if k.kind == secret {
		return core.Secrets(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
	}
	return core.ConfigMaps(k.namespace).Get(ctx, k.name, metav1.GetOptions{})
}

func (c *Objects) tell(audience map[types.UID][]string) {
	for uid, volumes := range audience {
		c.cfg.Changed(uid, volumes...)
	}
}

// pause sleeps, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
