package gc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// collectImages runs one image pass. A periodic pass below the threshold publishes only removals: the other verdicts
// would be the same for every image every five minutes.
func (c *Collector) collectImages(ctx context.Context, cause trace.GCCause, all bool) (sum Summary, err error) {
	c.imagePass.Lock()
	defer c.imagePass.Unlock()
	sp := trace.Begin(c.cfg.Bus, trace.FromContext(ctx), trace.GC{What: trace.GCImages, Cause: cause})
	ctx = trace.ContextWith(ctx, sp)
	var in ImageInputs
	defer func() {
		e := trace.GC{What: trace.GCImages, Cause: cause, Considered: sum.Considered, Removed: sum.Removed, Freed: sum.Freed, Usage: in.FS.Used()}
		if err != nil {
			e.Err = err.Error()
		}
		c.reportImages(sp, cause, err)
		trace.End(c.cfg.Bus, sp, e)
	}()

	if in, err = c.lookAtImages(ctx); err != nil {
		return sum, err
	}
	var old []Verdict
	var failed error
	if !all {
		old, failed = c.removeOld(ctx, &in)
	}
	for _, v := range old {
		c.tell(sp, trace.ByImageGC, &v, &sum)
	}
	if in.FS, err = c.imageFS(ctx); err != nil && !all { // unused images are removed regardless of the usage
		return sum, errors.Join(failed, err)
	}
	in.All = all
	quiet := cause == trace.GCPeriod && in.FS.Used() < in.Policy.High
	verdicts, err := c.removeImages(ctx, &in)
	before := sum.Freed
	for _, v := range verdicts {
		if quiet && !v.Remove {
			continue
		}
		c.tell(sp, trace.ByImageGC, &v, &sum)
	}
	freed := sum.Freed - before
	if err = errors.Join(failed, err); err == nil && !all && freed < in.Need() {
		err = fmt.Errorf("Insufficient free disk space on the node's image filesystem (%d%% of %s used). "+ //nolint:staticcheck // upstream's text, which tools match
			"Failed to free sufficient space by deleting unused images (freed %d bytes). "+
			"Investigate disk usage, as it could be used by active images, logs, volumes, or other data.", in.FS.Used(), sizeText(in.FS.Capacity), freed)
		c.warn(sp, "FreeDiskSpaceFailed", err.Error())
	}
	return sum, err
}

// removeOld removes the images that have been unused for too long, and returns the verdicts on them. The file system is measured afterwards: it
// may have enough space then. An image that could not be removed stays in the inputs.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, freeOldImages. Upstream's pass ends if one could not be removed.
func (c *Collector) removeOld(ctx context.Context, in *ImageInputs) ([]Verdict, error) {
	if in.Policy.MaxAge <= 0 {
		return nil, nil
	}
	verdicts, err := c.removeImages(ctx, in) // without a file system, only age counts
	gone := make(map[string]bool)
	old := slices.DeleteFunc(verdicts, func(v Verdict) bool {
		gone[v.key()] = v.Remove
		return !v.Remove
	})
	in.Images = slices.DeleteFunc(in.Images, func(i Image) bool { return gone[i.key()] })
	return old, err
}

// lookAtImages returns the inputs of a pass, without the file system.
func (c *Collector) lookAtImages(ctx context.Context) (in ImageInputs, err error) {
	began := time.Now()
	images, err := c.listImages(ctx)
	if err != nil {
		return ImageInputs{}, err
	}
	if c.cfg.Present != nil {
		var ids []string
		for _, i := range images {
			ids = append(ids, i.GetId())
		}
		c.cfg.Present(ids, began)
	}
	return c.sight(ctx, images)
}

// watchImages notes which images exist and are used.
func (c *Collector) watchImages(ctx context.Context) error {
	c.imagePass.Lock()
	defer c.imagePass.Unlock()
	images, err := c.listImages(ctx)
	if err != nil {
		return err
	}
	_, err = c.sight(ctx, images)
	return err
}

func (c *Collector) listImages(ctx context.Context) ([]*runtimeapi.Image, error) {
	images, err := c.cfg.Images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	return images.GetImages(), nil
}

// sight notes the use of images that were just listed, and returns the inputs of a pass, without the file system.
func (c *Collector) sight(ctx context.Context, images []*runtimeapi.Image) (ImageInputs, error) {
	// List containers after the images: then a container that was created in between is found. An image that was pulled
	// in between is not, and is not removed.
	containers, err := c.cfg.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return ImageInputs{}, fmt.Errorf("list containers: %w", err)
	}
	var mounted []string
	if c.cfg.VolumeImages != nil {
		mounted = c.cfg.VolumeImages()
	}
	now := time.Now()
	return ImageInputs{
		Now: now, Policy: c.cfg.ImagePolicy, Watched: now.Sub(c.began),
		Images: c.seen.look(now, images, containers.GetContainers(), mounted),
	}, nil
}

// ImageDir gets the directory of the runtime's images.
func (c *Collector) ImageDir(ctx context.Context) (string, error) {
	info, err := c.cfg.Images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return "", fmt.Errorf("image file system: %w", err)
	}
	if len(info.GetImageFilesystems()) == 0 {
		return "", errors.New("image file system: the runtime names none")
	}
	return info.ImageFilesystems[0].GetFsId().GetMountpoint(), nil
}

// imageFS measures the file system of the images.
func (c *Collector) imageFS(ctx context.Context) (FS, error) {
	dir, err := c.ImageDir(ctx)
	if err != nil {
		return FS{}, err
	}
	f, err := c.cfg.FSInfo(dir)
	if err != nil {
		return FS{}, fmt.Errorf("image file system: %w", err)
	}
	if f.Capacity <= 0 {
		return FS{}, fmt.Errorf("image file system %s: %w", dir, errNoCapacity)
	}
	return f, nil
}

// sizeText returns a size as upstream's Event has it.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, formatSize.
func sizeText(bytes int64) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	size, unit := float64(bytes)/(1<<10), 0
	units := [...]string{"KiB", "MiB", "GiB", "TiB"}
	for ; size >= 1<<10 && unit < len(units)-1; unit++ {
		size /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

var errNoCapacity = errors.New("invalid capacity 0 on image filesystem")

// removeImages executes the plan one by one, and plans again if an image could not be removed, so that the next one
// takes its place. It returns the verdicts with their results.
func (c *Collector) removeImages(ctx context.Context, in *ImageInputs) ([]Verdict, error) {
	var errs []error
	done := make(map[string]bool)
	for {
		verdicts := PlanImages(*in)
		v, err := c.removePlanned(ctx, verdicts, done)
		if err == nil {
			return verdicts, errors.Join(errs...)
		}
		errs = append(errs, fmt.Errorf("remove %s: %w", v.Subject, err))
		for i := range in.Images {
			if img := &in.Images[i]; img.key() == v.key() {
				img.Failed = err.Error()
			}
		}
	}
}

// removePlanned executes the plan, up to the first image that could not be removed.
func (c *Collector) removePlanned(ctx context.Context, plan []Verdict, done map[string]bool) (Verdict, error) {
	for _, v := range plan {
		key := v.key()
		if !v.Remove || done[key] {
			continue
		}
		err := ctx.Err()
		if err == nil {
			err = c.remove(ctx, &v)
		}
		if err != nil {
			return v, err
		}
		done[key] = true
	}
	return Verdict{}, nil
}

// reportImages reports periodic passes that fail repeatedly. The first failure after a start often only means that it was too
// early.
//
// Upstream: pkg/kubelet/kubelet.go, StartGarbageCollection.
func (c *Collector) reportImages(sp trace.Span, cause trace.GCCause, err error) {
	if cause != trace.GCPeriod {
		return
	}
	if err == nil {
		c.failures = 0
		return
	}
	c.failures++
	if errors.Is(err, errNoCapacity) {
		c.warn(sp, "InvalidDiskCapacity", errNoCapacity.Error())
	}
	if c.failures > 1 {
		c.warn(sp, "ImageGCFailed", err.Error())
	}
}
