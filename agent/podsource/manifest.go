package podsource

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxManifest limits the size of a manifest, in bytes. Upstream: pkg/kubelet/config/common.go, maxConfigLength.
	maxManifest = 10 << 20
	// settleTime is how long a manifest may be invalid, a duplicate or renamed away before this is reported: writers
	// take several steps.
	settleTime = 150 * time.Millisecond
	// racy is how recent a modification time may be for a later write to get the same one.
	racy = 20 * time.Millisecond
)

// manifest is one file and its pods.
type manifest struct {
	path string
	// order is the order in which the files were found.
	order int
	stat  stamp
	sum   [sha256.Size]byte
	// pods are in use. They are from the last version without problems, if there was one.
	pods []*v1.Pod
	good bool
	// problems are those of the current version; duplicates are those with other files.
	problems   []Problem
	duplicates []Problem
	// warnings are the fields of the current version that are not used.
	warnings []Problem
	// reported are the problems and warnings that have been published.
	reported map[Problem]bool
	// told says that a problem of it is published and has not ended.
	told bool
	// due is when to check it again; zero for never.
	due time.Time
	// renamed says that it was renamed to a backup's name and may return.
	renamed bool
	// span is the SET that read the current version.
	span trace.Span
}

// stamp is used to detect changes of a file since it was read.
type stamp struct {
	info fs.FileInfo
	// unsure says that the file was written so recently that its time is not reliable.
	unsure bool
}

// same reports whether the file is certainly unchanged.
func (s stamp) same(info fs.FileInfo) bool {
	return s.info != nil && !s.unsure && os.SameFile(s.info, info) &&
		s.info.ModTime().Equal(info.ModTime()) && s.info.Size() == info.Size() && s.info.Mode() == info.Mode()
}

// version is the result of reading a file.
type version struct {
	path string
	gone bool
	stat stamp
	data []byte
	sum  [sha256.Size]byte
	// problem is why it cannot be read.
	problem *Problem
}

// look reads the file if it differs from m, which is nil for a new one. With force, it ignores an unchanged stamp. It
// returns nil if nothing changed.
func look(path string, m *manifest, force bool, now time.Time) *version {
	v := &version{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && !force && m != nil && m.stat.same(info):
		return nil
	case err == nil && info.IsDir():
		err = errors.New("is a directory: manifests are read from one level only")
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("is not a regular file (%s)", info.Mode().Type())
	case err == nil && info.Size() > maxManifest:
		err = fmt.Errorf("is %d bytes long: want at most %d", info.Size(), maxManifest)
	case err == nil:
		v.data, err = read(path)
	}
	if errors.Is(err, fs.ErrNotExist) { // also one that was removed after the look at its size
		if m == nil {
			return nil
		}
		v.gone = true
		return v
	}
	if info != nil && err == nil {
		v.stat = stamp{info: info, unsure: now.Sub(info.ModTime()) < racy}
	}
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = fmt.Errorf("cannot be read: %w", pe.Err)
		}
		v.problem = &Problem{Path: path, Message: err.Error()}
		v.sum = sha256.Sum256([]byte("error: " + err.Error()))
	} else {
		v.sum = sha256.Sum256(v.data)
	}
	if m != nil && m.sum == v.sum && !m.renamed {
		m.stat = v.stat
		return nil
	}
	return v
}

func read(path string) ([]byte, error) {
	// The path is the operator's manifest, which was a regular file just now; only root writes there.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxManifest))
}

// apply makes v the manifest's current version.
func (m *manifest) apply(v *version, node string, span trace.Span) {
	m.stat, m.sum, m.span, m.renamed, m.due = v.stat, v.sum, span, false, time.Time{}
	m.reported = nil
	var pods []*v1.Pod
	m.problems, m.warnings = nil, nil
	if v.problem != nil {
		m.problems = []Problem{*v.problem}
	} else {
		pods, m.problems, m.warnings = Decode(m.path, v.data, node)
	}
	switch {
	case len(m.problems) == 0:
		m.pods, m.good = pods, true
	case !m.good:
		// There is no earlier good version, so the valid pods are used.
		m.pods = pods
	}
}

// schedule sets when to report its problems and warnings, if there are new ones and nothing is due earlier.
func (m *manifest) schedule(due time.Time) {
	if !m.due.IsZero() {
		return
	}
	for _, p := range slices.Concat(m.problems, m.duplicates, m.warnings) {
		if !m.reported[p] {
			m.due = due
			return
		}
	}
}

// report publishes the problems and warnings that have not been published yet.
func (m *manifest) report(bus *trace.Bus) {
	present := make(map[Problem]bool)
	publish := func(problems []Problem, kept bool) {
		for _, p := range problems {
			if !m.reported[p] && !present[p] {
				trace.Point(bus, m.span, p.event(SourceFile, kept))
			}
			present[p] = true
		}
	}
	publish(m.problems, m.good && len(m.pods) > 0)
	publish(m.duplicates, false)
	m.told = m.told || len(present) > 0
	warn(bus, m.span, m.warnings, m.reported, present)
	m.reported, m.due = present, time.Time{}
}
