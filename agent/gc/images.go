package gc

import (
	"context"
	"errors"
	"fmt"
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
	in.All = all
	quiet := cause == trace.GCPeriod && in.FS.Used() < in.Policy.High
	verdicts, err := c.removeImages(ctx, &in)
	for _, v := range verdicts {
		if quiet && !v.Remove {
			continue
		}
		c.tell(sp, trace.ByImageGC, &v, &sum)
	}
	if need := in.Need(); err == nil && !all && sum.Freed < need {
		err = fmt.Errorf("Insufficient free disk space on the node's image filesystem (%d%% of %s used). "+ //nolint:staticcheck // upstream's text, which tools match
			"Failed to free sufficient space by deleting unused images (freed %d bytes). "+
			"Investigate disk usage, as it could be used by active images, logs, volumes, or other data.", in.FS.Used(), sizeText(in.FS.Capacity), sum.Freed)
		c.warn(sp, "FreeDiskSpaceFailed", err.Error())
	}
	return sum, err
}

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
	if in, err = c.sight(ctx, images); err != nil {
		return ImageInputs{}, err
	}
	in.FS, err = c.imageFS(ctx)
	return in, err
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
			if img := &in.Images[i]; img.ID == v.ID && img.RuntimeHandler == v.handler {
				img.Failed = err.Error()
			}
		}
	}
}

// removePlanned executes the plan, up to the first image that could not be removed.
func (c *Collector) removePlanned(ctx context.Context, plan []Verdict, done map[string]bool) (Verdict, error) {
	for _, v := range plan {
		key := v.ID + "," + v.handler
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
		c.warn(sp, "InvalidDiskCapacity", err.Error())
	}
	if c.failures > 1 {
		c.warn(sp, "ImageGCFailed", err.Error())
	}
}
