package objcache

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeloupe/kubeloupe/trace"
)

// get returns an object at least as new as the registrations before the call, or the last known one if it cannot be
// fetched.
//
// Upstream: pkg/kubelet/util/manager/watch_based_manager.go, objectCache.Get.
func (c *Objects) get(ctx context.Context, k key) (metav1.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.items[k]
	if it == nil {
		return nil, fmt.Errorf("%s is not registered: no pod on this node refers to it", k)
	}
	if it.have == it.want && !c.stale(it) {
		return it.answer()
	}
	if it.have == it.want {
		it.want++
	}
	for target := it.want; it.have < target; {
		if !it.fetching && !c.fetch(it, trace.FromContext(ctx)) {
			return nil, fmt.Errorf("fetch %s: the agent stops", k)
		}
		done := it.done
		c.mu.Unlock()
		err := c.await(ctx, k, done)
		c.mu.Lock()
		switch {
		case err != nil:
			return nil, fmt.Errorf("fetch %s: %w", k, err)
		case it.err != nil && it.obj != nil:
			return it.obj, nil
		case it.err != nil:
			return nil, fmt.Errorf("fetch %s: %w", k, it.err)
		}
	}
	return it.answer()
}

// stale reports whether the object must be requested again.
func (c *Objects) stale(it *item) bool {
	if it.synced {
		return false
	}
	limit := shared
	if c.cfg.Strategy == Cache {
		limit = cached
	}
	return !immutable(it.obj) && time.Since(it.asOf) > limit
}

func (it *item) answer() (metav1.Object, error) {
	if it.obj == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: string(it.key.kind)}, it.key.name)
	}
	return it.obj, nil
}

func (c *Objects) await(ctx context.Context, k key, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	wait := trace.Wait{For: trace.WaitObject, Target: k.target()}
	span := trace.Begin(c.cfg.Bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(c.cfg.Bus, span, wait) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
