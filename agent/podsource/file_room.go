package podsource

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// choose returns the files to read: the manifests in use and, while there is room, others. At the start, those whose
// pods run come first. After that the oldest come first, or the newest if new ones arrived.
func (f *File) choose(why trace.SourceCause, files map[string]bool) []string {
	var held, others []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if f.manifests[path] != nil {
			held = append(held, path)
		} else {
			others = append(others, path)
		}
	}
	if room := max(f.most-len(f.manifests), 0); len(others) > room {
		f.tellCrowded()
		if room > 0 {
			others = f.ranked(others, f.overlooked || why == trace.SourceInotify)[:room]
			f.overlooked = false
		} else {
			others = nil
		}
		f.overlooked = f.overlooked || why == trace.SourceInotify
	}
	return slices.Sorted(slices.Values(slices.Concat(held, others)))
}

// ranked sorts files by precedence. Files that are gone are last.
func (f *File) ranked(paths []string, newest bool) []string {
	const inUse, idle, gone = 0, 1, 2
	type place struct {
		class   int
		written int64
	}
	now, places, running := time.Now(), make(map[string]place, len(paths)), 0
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			places[path] = place{class: gone}
			continue
		}
		p := place{class: idle, written: info.ModTime().UnixNano()}
		if newest {
			p.written = -p.written
		}
		if !f.delivered && running < f.most && f.inUse(path, now) {
			p.class = inUse
			running++
		}
		places[path] = p
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		x, y := places[a], places[b]
		return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.written, y.written))
	})
	return paths
}

// inUse reports whether a pod of a manifest that is not in use yet runs.
func (f *File) inUse(path string, now time.Time) bool {
	v := look(path, nil, true, now)
	if v == nil {
		return false
	}
	m := manifest{path: path}
	m.apply(v, f.node, trace.Span{})
	return slices.ContainsFunc(m.pods, func(p *v1.Pod) bool { return f.runs(p.UID) })
}

// tellCrowded reports, once, that some manifests are not used.
func (f *File) tellCrowded() {
	if !f.crowded {
		f.crowded = true
		trace.Point(f.bus, trace.Span{}, f.noRoom(f.path).event(SourceFile, true))
	}
}

// noRoom is the problem of a manifest that is not used.
func (f *File) noRoom(path string) Problem {
	return Problem{Path: path, Message: fmt.Sprintf(
		"there are more manifests or pods than %d, which is how many are used: the others wait until some are removed", f.most)}
}

// makeRoom removes useless manifests to make room for the new ones in files, if there are enough useless ones. It
// deletes new ones that have disappeared from files. If named, the manifests in files are not removed.
func (f *File) makeRoom(files map[string]bool, named bool) {
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
		if _, looked := files[m.path]; looked && named || !f.useless(m) {
			continue
		}
		f.tellCrowded()
		f.forget(m, trace.Span{})
		if need--; need == 0 {
			return
		}
	}
}

// useless reports whether the node has rejected all pods of a manifest.
func (f *File) useless(m *manifest) bool {
	for _, p := range m.pods {
		if !f.refused(p.UID) {
			return false
		}
	}
	return true
}

// forget removes a manifest, and ends its published problems.
func (f *File) forget(m *manifest, span trace.Span) {
	delete(f.manifests, m.path)
	if m.told {
		trace.Point(f.bus, span, trace.SourceError{Source: SourceFile, Path: m.path, Gone: true})
	}
}
