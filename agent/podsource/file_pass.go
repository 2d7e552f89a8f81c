package podsource

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// list returns the files to check, existing and known ones. The value says whether to read a file even if its stamp is
// unchanged. If path cannot be read, that is reported and nothing changes: the list is nil.
func (f *File) list(force bool) map[string]bool {
	files := make(map[string]bool)
	for path := range f.manifests {
		files[path] = force
	}
	names, err := f.entries()
	if err != nil {
		if f.unreadable != err.Error() {
			f.unreadable = err.Error()
			p := Problem{Path: f.path, Message: err.Error()}
			trace.Point(f.bus, trace.Span{}, p.event(SourceFile, len(f.manifests) > 0))
		}
		return nil
	}
	if f.unreadable != "" {
		trace.Point(f.bus, trace.Span{}, trace.SourceError{Source: SourceFile, Path: f.path})
	}
	f.unreadable, f.listed = "", true
	for _, path := range names {
		files[path] = force
	}
	if f.crowded && len(files) <= f.most {
		f.crowded = false
		trace.Point(f.bus, trace.Span{}, trace.SourceError{Source: SourceFile, Path: f.path})
	}
	return files
}

// entries returns the paths of the existing manifests. A path that does not exist has none.
func (f *File) entries() ([]string, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, cause(err)
	case info.Mode().IsRegular():
		return []string{f.path}, nil
	case !info.IsDir():
		return nil, fmt.Errorf("is neither a directory nor a regular file (%s)", info.Mode().Type())
	}
	entries, err := os.ReadDir(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed just now
		return nil, nil
	case err != nil:
		return nil, cause(err)
	}
	var paths []string
	for _, e := range entries {
		if !hidden(e.Name()) {
			paths = append(paths, filepath.Join(f.path, e.Name()))
		}
	}
	return paths, nil
}

func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", pe.Err)
	}
	return err
}

// changed returns the files of events that can be read now. The value says whether to read a file even if its stamp is unchanged.
func (f *File) changed(events []change) map[string]bool {
	files := make(map[string]bool)
	for _, c := range events {
		m := f.manifests[c.name]
		switch c.kind {
		case created:
			// The writer will close it later; a link or a directory is already complete.
			if info, err := os.Lstat(c.name); err != nil || (info.Mode().IsRegular() && !linked(info)) {
				continue
			}
		case attributes:
			if m == nil || m.stat.info == nil || len(m.problems) == 0 {
				continue
			}
		case backup:
			if m != nil {
				m.renamed, m.due = true, time.Now().Add(f.settle)
				continue
			}
		case gone:
			delete(files, c.name) // if it exists again, its writer may not have closed it yet: another event follows
			continue
		case written, everything:
		}
		files[c.name] = true
	}
	return files
}

// settled checks the manifests that are due and reports those that are still invalid.
func (f *File) settled(set func(Set)) {
	now := time.Now()
	files := make(map[string]bool)
	var due []*manifest
	for _, m := range f.sorted() {
		if !m.due.IsZero() && !m.due.After(now) {
			files[m.path] = true
			due = append(due, m)
		}
	}
	spans := make([]trace.Span, len(due))
	for i, m := range due {
		spans[i] = m.span
	}
	f.pass(trace.SourceSettled, files, set)
	for i, m := range due {
		if m.span == spans[i] && f.manifests[m.path] == m {
			m.report(f.bus)
		}
	}
}

// pass reads files and, if any changed, delivers the new set. It delivers the first set even if it is empty, but none
// before path could be read: an unknown set is not an empty one.
func (f *File) pass(why trace.SourceCause, files map[string]bool, set func(Set)) {
	if files == nil || !f.listed {
		return
	}
	now := time.Now()
	var versions []*version
	for _, path := range f.choose(why, files) {
		m := f.manifests[path]
		if v := look(path, m, files[path], now); v != nil && !f.wait(why, m, v, now) {
			versions = append(versions, v)
		}
	}
	if len(versions) > 0 || !f.delivered {
		f.deliver(why, versions, set)
	}
}

// deliver makes versions the current ones and delivers the new set.
func (f *File) deliver(why trace.SourceCause, versions []*version, set func(Set)) {
	event := trace.Source{Source: SourceFile, Op: trace.OpSet, Cause: why, Path: f.path}
	if len(versions) == 1 {
		event.Path = versions[0].path
	}
	span := trace.Begin(f.bus, trace.Span{}, event)
	for _, v := range versions {
		f.apply(v, span)
	}
	pods, same, paths := f.pods(time.Now())
	event.Pods = len(pods)
	trace.End(f.bus, span, event)
	f.mended(span)
	f.delivered = true
	set(Set{Pods: pods, Same: same, Paths: paths, Span: span})
}

// wait reports whether to postpone a version: a file that was renamed to a backup's name may return, and one that the
// periodic read finds may be half written.
func (f *File) wait(why trace.SourceCause, m *manifest, v *version, now time.Time) bool {
	fresh := v.stat.info != nil && now.Sub(v.stat.info.ModTime()) < f.settle
	if m == nil {
		return why == trace.SourcePeriod && fresh
	}
	if (v.gone && m.renamed && m.due.After(now)) || (why == trace.SourcePeriod && fresh) {
		if m.due.IsZero() {
			m.due = now.Add(f.settle)
		}
		return true
	}
	return false
}

func (f *File) apply(v *version, span trace.Span) {
	m := f.manifests[v.path]
	if v.gone {
		if m != nil {
			f.forget(m, span)
		}
		return
	}
	if m == nil {
		m = &manifest{path: v.path, order: f.orders}
		f.orders++
		f.manifests[v.path] = m
	}
	m.apply(v, f.node, span)
}

// mended publishes the end of the published problems of manifests that are valid now.
func (f *File) mended(span trace.Span) {
	for _, m := range f.sorted() {
		if m.told && len(m.problems) == 0 && len(m.duplicates) == 0 {
			m.told = false
			trace.Point(f.bus, span, trace.SourceError{Source: SourceFile, Path: m.path})
		}
	}
}

// pods returns the set, and the manifest of each pod. Of pods with the same name, it has the one of the earliest file.
// The others, which it returns too, become problems of their files, and so do those for which there is no room.
func (f *File) pods(now time.Time) (pods, same []*v1.Pod, paths map[types.UID]string) {
	paths = make(map[types.UID]string)
	owner := make(map[string]string)
	for _, m := range f.sorted() {
		var duplicates []Problem
		for _, p := range m.pods {
			name := podspec.FullName(p)
			if first, taken := owner[name]; taken {
				same = append(same, p)
				duplicates = append(duplicates, Problem{
					Path:    m.path,
					Field:   "metadata.name",
					Message: fmt.Sprintf("pod %s/%s is already defined in %s; this one is ignored until that is removed", p.Namespace, p.Name, first),
				})
				continue
			}
			if len(pods) >= f.most {
				duplicates = append(duplicates, f.noRoom(m.path))
				break
			}
			owner[name] = m.path
			paths[p.UID] = m.path
			pods = append(pods, p)
		}
		if len(duplicates) < len(m.duplicates) {
			m.reported = nil // the remaining problems are reported again, because using a part of it looks like a valid manifest
		}
		m.duplicates = duplicates
		m.schedule(now.Add(f.settle))
	}
	return pods, same, paths
}

// sorted returns the manifests, earliest first.
func (f *File) sorted() []*manifest {
	return slices.SortedFunc(maps.Values(f.manifests), func(a, b *manifest) int { return cmp.Compare(a.order, b.order) })
}
