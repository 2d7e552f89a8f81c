package podsource

import "github.com/kubeloupe/kubeloupe/trace"

// remove delivers the set without the manifests that were removed or renamed away, also if they exist again by now: that is a new
// manifest, and its pod starts anew.
//
// Upstream: pkg/kubelet/config/file_linux.go, consumeWatchEvent, which also does this for a rename to a backup's name.
func (f *File) remove(events []change, set func(Set)) {
	var versions []*version
	for _, c := range events {
		if c.kind == gone && f.manifests[c.name] != nil && !has(versions, c.name) {
			versions = append(versions, &version{path: c.name, gone: true})
		}
	}
	if len(versions) > 0 {
		f.deliver(trace.SourceInotify, versions, set)
	}
}

func has(versions []*version, path string) bool {
	for _, v := range versions {
		if v.path == path {
			return true
		}
	}
	return false
}
