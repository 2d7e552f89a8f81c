package objcache

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// The delay between watches of one object doubles from the first to the last, and has jitter.
	firstRewatch = 50 * time.Millisecond
	lastRewatch  = 30 * time.Second
	// minWatch is the minimum time for which the API server should keep a watch open, in seconds.
	minWatch = 30 * 60
)

// watch starts a watch of the object, if a volume shows it, it is mutable, and its first fetch succeeded. Called with
// mu.
func (c *Objects) watch(it *item) {
	switch {
	case it.watching != nil || it.have == 0 || !it.shown() || c.cfg.Strategy != Watch || c.items[it.key] != it:
		return
	case immutable(it.obj):
		return
	}
	ctx, cancel := context.WithCancel(c.life)
	if !c.start(func() { c.keepWatch(ctx, it) }) {
		cancel()
		return
	}
	it.watching = cancel
}

// keepWatch watches repeatedly until ctx ends.
func (c *Objects) keepWatch(ctx context.Context, it *item) {
	first := backoff.Jittered(firstRewatch, lastRewatch, 1)
	pauses := first
	for initial := true; ctx.Err() == nil; {
		began := time.Now()
		err := c.watchOnce(ctx, it, initial)
		c.unsync(ctx, it)
		if ctx.Err() != nil {
			return
		}
		if initial && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
			initial = false // a server that does not support initial events
			continue
		}
		if time.Since(began) > lastRewatch {
			pauses = first
		} else if err != nil && pauses == first {
			trace.Point(c.cfg.Bus, trace.Span{}, trace.Log{
				Level: trace.LevelWarn, Message: "the watch of an object ended", Attrs: []trace.KV{{K: "object", V: it.key.String()}, {K: "err", V: err.Error()}},
			})
		}
		pause(ctx, pauses.Step())
	}
}

// watchOnce stores the objects of one watch. The watch first delivers the state of the API server's cache, without a
// request to etcd; objects older than the known one are ignored.
func (c *Objects) watchOnce(ctx context.Context, it *item, initial bool) error {
	opts := metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", it.key.name).String(),
		ResourceVersion: "0", AllowWatchBookmarks: true,
		TimeoutSeconds: new(int64(minWatch + rand.IntN(minWatch))),
	}
	if initial {
		opts.SendInitialEvents, opts.ResourceVersionMatch = new(true), metav1.ResourceVersionMatchNotOlderThan
	}
	w, err := c.openWatch(ctx, it.key, opts)
	if err != nil {
		return err
	}
	defer w.Stop()
	if !initial {
		c.sync(ctx, it)
	}
	seen := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-w.ResultChan():
			if !ok {
				return nil
			}
			if err := c.take(ctx, it, ev, &seen); err != nil {
				return err
			}
		}
	}
}

func (c *Objects) openWatch(ctx context.Context, k key, opts metav1.ListOptions) (watch.Interface, error) {
	if k.kind == secret {
		return c.cfg.Client.CoreV1().Secrets(k.namespace).Watch(ctx, opts)
	}
	return c.cfg.Client.CoreV1().ConfigMaps(k.namespace).Watch(ctx, opts)
}

// take handles one event. seen is whether this watch has delivered the object.
func (c *Objects) take(ctx context.Context, it *item, ev watch.Event, seen *bool) error {
	obj := asObject(ev.Object)
	switch ev.Type {
	case watch.Added, watch.Modified:
		if obj != nil && obj.GetName() == it.key.name {
			*seen = true
			c.learn(ctx, it, obj)
		}
	case watch.Deleted:
		if obj != nil && obj.GetName() == it.key.name {
			c.forget(ctx, it, obj.GetResourceVersion())
		}
	case watch.Bookmark:
		if obj == nil || obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			return nil
		}
		if !*seen {
			c.forget(ctx, it, obj.GetResourceVersion())
		}
		c.sync(ctx, it)
	case watch.Error:
		return apierrors.FromObject(ev.Object)
	default:
		return errors.New("an event of an unknown type: " + string(ev.Type))
	}
	return nil
}

func asObject(o any) metav1.Object {
	switch o := o.(type) {
	case *v1.ConfigMap:
		return o
	case *v1.Secret:
		return o
	}
	return nil
}

// learn stores an object from a watch that is still valid.
func (c *Objects) learn(ctx context.Context, it *item, obj metav1.Object) {
	c.change(ctx, it, func() bool { return it.learn(obj) })
}

// forget records that the object does not exist at a resource version.
func (c *Objects) forget(ctx context.Context, it *item, asOf string) {
	c.change(ctx, it, func() bool {
		return it.obj != nil && !older(asOf, it.obj.GetResourceVersion()) && it.learn(nil)
	})
}

func (c *Objects) change(ctx context.Context, it *item, do func() bool) {
	var tell map[types.UID][]string
	c.mu.Lock()
	if ctx.Err() == nil {
		if do() {
			tell = it.audience()
		}
		c.discloseAll(it)
		if immutable(it.obj) {
			it.unwatch()
		}
	}
	c.mu.Unlock()
	c.tell(tell)
}

func (c *Objects) sync(ctx context.Context, it *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil {
		it.synced = true
	}
}

func (c *Objects) unsync(ctx context.Context, it *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil {
		it.synced = false
	}
}
