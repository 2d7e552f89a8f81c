package gc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// ImagePolicy says when images are removed.
type ImagePolicy struct {
	// High and Low are in percent of the image file system: from High on, images are removed until Low
	// (imageGCHighThresholdPercent 85, imageGCLowThresholdPercent 80).
	High, Low int
	// MinAge is how long an image must have been known before it is removed (imageMinimumGCAge, 2 min).
	MinAge time.Duration
	// MaxAge is how long an image may be unused; 0 means forever (imageMaximumGCAge).
	MaxAge time.Duration
}

// DefaultImagePolicy returns upstream's policy.
func DefaultImagePolicy() ImagePolicy {
	return ImagePolicy{High: 85, Low: 80, MinAge: 2 * time.Minute}
}

// Threshold returns the thresholds.
func (p ImagePolicy) Threshold() trace.Threshold {
	return trace.Threshold{Kind: trace.ThresholdImageGC, Percent: float64(p.High), DownTo: float64(p.Low)}
}

// FS is a file system's size, in bytes.
type FS struct{ Capacity, Available int64 }

// Used returns how full it is in percent, rounded up; 0 while its capacity is unknown.
func (f FS) Used() int {
	if f.Capacity <= 0 {
		return 0
	}
	// In floating point: 100 × bytes overflows 64 bits from 92 PB on.
	return 100 - int(float64(min(f.Available, f.Capacity))*100/float64(f.Capacity))
}

// Image is one image on the node.
type Image struct {
	ID string
	// Name is a tag or digest, for people.
	Name   string
	Size   int64
	Pinned bool
	// Used says that a container, running or not, uses the image.
	Used bool
	// FirstSeen is when a pass first found it, LastUsed when one last found it in use; zero for never.
	FirstSeen, LastUsed time.Time
	// Failed is why an earlier attempt of this pass could not remove it.
	Failed string
	// RuntimeHandler is the handler of the image, if the runtime distinguishes images by handler.
	RuntimeHandler string
}

// key identifies the image on the node.
func (i *Image) key() string { return i.ID + "," + i.RuntimeHandler }

// unusedSince returns since when it has not been used.
func (i *Image) unusedSince() time.Time {
	if i.LastUsed.After(i.FirstSeen) {
		return i.LastUsed
	}
	return i.FirstSeen
}

// ImageInputs are all inputs of an image pass.
type ImageInputs struct {
	Now    time.Time
	Policy ImagePolicy
	// FS is zero if it is not measured: then no image is removed for space.
	FS FS
	// All requests the removal of every unused image, regardless of the disk usage.
	All bool
	// Watched is how long images have been watched: MaxAge counts from the start of that at the earliest.
	Watched time.Duration
	Images  []Image
}

// Need returns how many bytes must be removed.
func (in *ImageInputs) Need() int64 {
	if in.FS.Used() < in.Policy.High {
		return 0
	}
	return max(0, in.FS.Capacity/100*int64(100-in.Policy.Low)-in.FS.Available)
}

// PlanImages returns a verdict on each image, least recently used first: the order of removal.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, GarbageCollect. One difference: the age of an image that was never
// used counts from when it was first seen, not from the beginning of time, so that imageMaximumGCAge does not remove
// images that were just pulled.
func PlanImages(in ImageInputs) []Verdict {
	images := slices.Clone(in.Images)
	sorting.Stable(images, func(a, b *Image) int {
		return cmp.Or(a.LastUsed.Compare(b.LastUsed), a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.ID, b.ID))
	})
	need, freed := in.Need(), int64(0)
	verdicts := make([]Verdict, 0, len(images))
	for i := range images {
		img := &images[i]
		v := describeImage(img, in.Now)
		v.Ground, v.Reason = judge(&in, img, need, freed)
		if v.Remove = v.Ground != ""; v.Remove {
			freed += img.Size
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func judge(in *ImageInputs, img *Image, need, freed int64) (why trace.RemovalGround, reason string) {
	unused := in.Now.Sub(img.unusedSince())
	seen := in.Now.Sub(img.FirstSeen)
	switch {
	case img.Used:
		return "", "a container uses it"
	case img.Pinned:
		return "", "the runtime pins it"
	case img.Failed != "":
		return "", "it could not be removed: " + img.Failed
	case in.Policy.MaxAge > 0 && in.Watched > in.Policy.MaxAge && unused > in.Policy.MaxAge:
		return trace.RemovedForAge, fmt.Sprintf("it has been unused for %v, longer than %v", unused.Round(time.Second), in.Policy.MaxAge)
	case !in.All && in.FS.Used() < in.Policy.High:
		return "", fmt.Sprintf("the file system is %d%% full, below %d%%", in.FS.Used(), in.Policy.High)
	case seen < in.Policy.MinAge:
		return "", fmt.Sprintf("it was first seen %v ago, less than %v", seen.Truncate(time.Second), in.Policy.MinAge)
	case in.All:
		return trace.RemovedForDisuse, "the removal of unused images was requested"
	case freed >= need:
		return "", fmt.Sprintf("images unused for longer free enough to reach %d%%", in.Policy.Low)
	default:
		return trace.RemovedForSpace, fmt.Sprintf("the file system is %d%% full and must be reduced to %d%%; it has been unused for %v", in.FS.Used(), in.Policy.Low, unused.Round(time.Second))
	}
}

func describeImage(img *Image, now time.Time) Verdict {
	return Verdict{
		Kind: KindImage, ID: img.ID, Subject: cmp.Or(img.Name, img.ID), Bytes: img.Size, handler: img.RuntimeHandler,
		Inputs: []trace.KV{
			{K: "size", V: strconv.FormatInt(img.Size, 10)},
			{K: "last_used", V: ago(now, img.LastUsed)},
			{K: "first_seen", V: ago(now, img.FirstSeen)},
			{K: "id", V: img.ID},
		},
	}
}

func ago(now, t time.Time) string {
	switch {
	case t.IsZero():
		return "never"
	case !t.Before(now):
		return "now"
	}
	return now.Sub(t).Round(time.Second).String() + " ago"
}
