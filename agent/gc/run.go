package gc

import (
	"context"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Run runs each kind of garbage collection now, and then every minute (containers) and every five minutes (images)
// until ctx is done. The first run for containers waits at most a minute for the pod sources, so that it can remove the
// remains of pods that were deleted while no agent ran. A failed run is reported and retried at the next interval.
// If no usage can trigger image runs, Run only notes every five minutes which images exist and are used: DeleteUnused depends on it.
//
// Upstream: pkg/kubelet/kubelet.go, StartGarbageCollection; pkg/kubelet/images/image_gc_manager.go, Start.
func (c *Collector) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-c.cfg.Pods.Complete():
		case <-time.After(containerPeriod):
		case <-ctx.Done():
			return
		}
		every(ctx, containerPeriod, func() { _, _ = c.collectContainers(ctx, trace.GCPeriod, false) })
	})
	wg.Go(func() {
		every(ctx, imagePeriod, func() { c.imageTick(ctx) })
	})
	wg.Wait()
	return nil
}

// imageTick runs the garbage collection of images, or only watches them if no usage can trigger it.
func (c *Collector) imageTick(ctx context.Context) {
	if p := c.cfg.ImagePolicy; p.High < 100 || p.MaxAge > 0 {
		_, _ = c.collectImages(ctx, trace.GCPeriod, false)
		return
	}
	if err := c.watchImages(ctx); err != nil && ctx.Err() == nil {
		trace.Point(c.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: "the age and use of images are not known: " + err.Error()})
	}
}

func every(ctx context.Context, period time.Duration, pass func()) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		pass()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// CollectContainers runs the garbage collection of containers immediately.
func (c *Collector) CollectContainers(ctx context.Context) (Summary, error) {
	return c.collectContainers(ctx, trace.GCDemand, false)
}

// DeleteEnded removes the containers that the garbage collection of containers would remove, and all those of pods that have terminated.
// What a pod that runs may restart is kept as usual.
//
// Upstream: pkg/kubelet/container/container_gc.go, DeleteAllUnusedContainers.
func (c *Collector) DeleteEnded(ctx context.Context) (Summary, error) {
	return c.collectContainers(ctx, trace.GCPressure, true)
}

// CollectImages runs the garbage collection of images immediately. It removes the same images as a periodic run, but publishes the
// decision about every image.
func (c *Collector) CollectImages(ctx context.Context) (Summary, error) {
	return c.collectImages(ctx, trace.GCDemand, false)
}

// DeleteUnused removes every image that is not in use, pinned or too young, regardless of the disk usage: for eviction.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, DeleteUnusedImages.
func (c *Collector) DeleteUnused(ctx context.Context) (Summary, error) {
	return c.collectImages(ctx, trace.GCPressure, true)
}
