package gc

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sighting is the state of an image between passes.
type sighting struct{ first, used time.Time }

// tracker has the times when images were first seen and last used.
type tracker map[string]sighting

// look updates the tracker and returns the images with their times. mounted are the images of volumes.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, detectImages.
func (t *tracker) look(now time.Time, images []*runtimeapi.Image, containers []*runtimeapi.Container, mounted []string) []Image {
	used := make(map[string]bool)
	for _, name := range mounted {
		used[name] = true
	}
	for _, c := range containers {
		for _, name := range []string{c.ImageId, c.ImageRef, c.GetImage().GetImage()} {
			used[name] = true
		}
	}
	next := make(tracker, len(images))
	out := make([]Image, 0, len(images))
	for _, img := range images {
		key := img.Id
		if h := img.GetSpec().GetRuntimeHandler(); h != "" {
			key += "," + h
		}
		s, known := (*t)[key]
		if !known {
			s.first = now
		}
		inUse := isUsed(img, used)
		if inUse {
			s.used = now
		}
		next[key] = s
		out = append(out, Image{
			ID: img.Id, Name: nameOf(img), Size: int64(img.Size), Pinned: img.Pinned, Used: inUse,
			FirstSeen: s.first, LastUsed: s.used, RuntimeHandler: img.GetSpec().GetRuntimeHandler(),
		})
	}
	*t = next
	return out
}

// isUsed checks every name: older runtimes report a container's image by tag or digest, newer ones by ID.
func isUsed(img *runtimeapi.Image, used map[string]bool) bool {
	if used[img.Id] {
		return true
	}
	for _, names := range [][]string{img.RepoTags, img.RepoDigests} {
		for _, name := range names {
			if used[name] {
				return true
			}
		}
	}
	return false
}

func nameOf(img *runtimeapi.Image) string {
	for _, names := range [][]string{img.RepoTags, img.RepoDigests} {
		if len(names) > 0 {
			return names[0]
		}
	}
	return ""
}
