package podsource

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// choose returns the files to look at: those that are held, and of the others as many as there is room for, the oldest first.
func (f *File) choose(files map[string]bool) []string {
	var held, others []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if f.manifests[path] != nil {
			held = append(held, path)
		} else {
			others = append(others, path)
		}
	}
	if room := f.most - len(f.manifests); len(others) > room {
		f.tellCrowded()
		if room > 0 {
			others = oldest(others)
		}
		others = others[:max(room, 0)]
	}
	return slices.Sorted(slices.Values(slices.Concat(held, others)))
}

// oldest sorts files by when they were last written. Who is gone is last.
func oldest(paths []string) []string {
	written := make(map[string]int64, len(paths))
	for _, path := range paths {
		written[path] = math.MaxInt64
		if info, err := os.Stat(path); err == nil {
			written[path] = info.ModTime().UnixNano()
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(written[a], written[b]) })
	return paths
}

// tellCrowded tells, once, that some manifests are left alone.
func (f *File) tellCrowded() {
	if !f.crowded {
		f.crowded = true
		trace.Point(f.bus, trace.Span{}, f.noRoom(f.path).event(SourceFile, true))
	}
}

// noRoom is the problem of what is left alone.
func (f *File) noRoom(path string) Problem {
	return Problem{Path: path, Message: fmt.Sprintf(
		"there are more manifests or pods than %d, which is how many are used: the others wait until some are removed", f.most)}
}

// makeRoom forgets as many manifests as files has new ones for which there is no room, if there are as many that are of no use. New ones
// that have gone meanwhile are taken out of files.
func (f *File) makeRoom(files map[string]bool) {
	need := len(f.manifests) - f.most
	for path := range files {
		if f.manifests[path] != nil {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			delete(files, path)
			continue
		}
		need++
	}
	if need <= 0 {
		return
	}
	for _, m := range f.sorted() {
		if _, changes := files[m.path]; changes || !f.useless(m) {
			continue
		}
		f.tellCrowded()
		f.forget(m, trace.Span{})
		if need--; need == 0 {
			return
		}
	}
}

// useless reports whether the node runs nothing of a manifest, and never will as it is.
func (f *File) useless(m *manifest) bool {
	for _, p := range m.pods {
		if !f.refused(p.UID) {
			return false
		}
	}
	return true
}

// forget drops a manifest, and what was told of it.
func (f *File) forget(m *manifest, span trace.Span) {
	delete(f.manifests, m.path)
	if m.told {
		trace.Point(f.bus, span, trace.SourceError{Source: SourceFile, Path: m.path, Gone: true})
	}
}
