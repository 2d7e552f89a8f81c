package podsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// SourceFile is the name of the file source.
const SourceFile = podspec.SourceFile

// DefaultFilePeriod is how often manifests are read again without an event.
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go, FileCheckFrequency.
const DefaultFilePeriod = 20 * time.Second

// DefaultMostManifests is how many manifests a File uses by default. A node runs far fewer pods.
const DefaultMostManifests = 250

// pollPeriod is the period without inotify.
const pollPeriod = time.Second

// FileConfig is what a File needs.
type FileConfig struct {
	// Path is a directory of manifests, or one manifest. It need not exist yet.
	Path string
	// Node is the node's name.
	Node string
	// Period is fileCheckFrequency; 0 is DefaultFilePeriod.
	Period time.Duration
	// Most is the maximum number of manifests, and of their pods together; 0 is DefaultMostManifests.
	Most int
	// Refused reports whether the node has permanently rejected a pod; nil means never. New manifests can replace those with
	// rejected pods only.
	Refused func(types.UID) bool
	// Runs reports whether the runtime already has a pod; nil means never. At the start, manifests with such pods take
	// precedence.
	Runs func(types.UID) bool
	// Bus may be nil.
	Bus *trace.Bus
}

// File is the source of static pods.
//
// A manifest is used completely or not at all: if one becomes invalid, its last valid version remains in use until it is valid
// again or removed. If two manifests define a pod of the same name, the first one has it.
//
// The number of manifests is limited. Further ones are reported and not used until there is room. At the start, manifests whose
// pods run are used first, then the oldest. A new manifest replaces one whose pods the node has rejected, or that has no pods; of
// several, the newest do.
//
// Upstream: pkg/kubelet/config/file.go, which removes the pod of an invalid manifest at the next periodic read.
type File struct {
	path   string
	node   string
	period time.Duration
	bus    *trace.Bus
	settle time.Duration
	most   int
	// refused and runs are never nil.
	refused, runs func(types.UID) bool

	// What follows belongs to Run's goroutine.
	manifests map[string]*manifest
	orders    int
	// crowded says that there are more manifests than the maximum.
	crowded bool
	// overlooked says that new manifests arrived when there was no room: the next pass tries the newest.
	overlooked bool
	// unreadable is the last reported problem with path itself.
	unreadable string
	// watchError is why changes are polled for; "" if inotify works.
	watchError string
	// listed says that path could be read, delivered that a set was delivered.
	listed, delivered bool
}

// NewFile returns a file source.
func NewFile(c FileConfig) (*File, error) {
	switch {
	case c.Path == "":
		return nil, errors.New("file source: staticPodPath is empty: want a directory or a manifest")
	case c.Node == "":
		return nil, errors.New("file source: the node's name is empty")
	case c.Period < 0:
		return nil, fmt.Errorf("file source: fileCheckFrequency is %s: want a positive duration", c.Period)
	case c.Most < 0:
		return nil, fmt.Errorf("file source: at most %d manifests: want a positive number", c.Most)
	}
	c.Period, c.Most = cmp.Or(c.Period, DefaultFilePeriod), cmp.Or(c.Most, DefaultMostManifests)
	never := func(types.UID) bool { return false }
	if c.Refused == nil {
		c.Refused = never
	}
	if c.Runs == nil {
		c.Runs = never
	}
	path := filepath.Clean(strings.TrimSuffix(c.Path, string(filepath.Separator)))
	if c.Path == string(filepath.Separator) {
		path = c.Path
	}
	return &File{
		path: path, node: c.Node, period: c.Period, bus: c.Bus, settle: settleTime, most: c.Most, refused: c.Refused, runs: c.Runs,
		manifests: make(map[string]*manifest),
	}, nil
}

// Name implements Source.
func (f *File) Name() string { return SourceFile }

// Run implements Source.
func (f *File) Run(ctx context.Context, set func(Set)) error {
	w, err := newWatcher()
	if err != nil {
		f.watchFailed(err)
	} else {
		defer w.close()
	}
	// Watch first, then read: a change in between is seen twice, but never missed.
	f.arm(w)
	f.pass(trace.SourceStart, f.list(false), set)

	ticker := time.NewTicker(f.interval())
	defer ticker.Stop()
	for {
		timer := f.timer()
		select {
		case <-ctx.Done():
			return nil
		case batch := <-w.batches():
			f.events(w, batch, set)
		case <-timer:
			f.settled(set)
		case <-ticker.C:
			f.arm(w)
			ticker.Reset(f.interval())
			f.look(trace.SourcePeriod, false, set)
		}
	}
}

// look reads the directory, and the manifests that changed.
func (f *File) look(why trace.SourceCause, force bool, set func(Set)) {
	files := f.list(force)
	if f.overlooked || why == trace.SourceInotify {
		f.makeRoom(files, false)
	}
	f.pass(why, files, set)
}

// events reads the manifests in a batch of inotify events.
func (f *File) events(w *watcher, batch []change, set func(Set)) {
	files, all := w.interpret(f.path, batch)
	f.remove(files, set)
	if all {
		f.arm(w)
		f.look(trace.SourceInotify, true, set)
		return
	}
	changed := f.changed(files)
	f.makeRoom(changed, true)
	f.pass(trace.SourceInotify, changed, set)
}

func (f *File) arm(w *watcher) {
	if w == nil {
		return
	}
	if err := w.arm(f.path); err != nil {
		f.watchFailed(err)
		return
	}
	f.watchError = ""
}

// interval is the time between periodic reads.
func (f *File) interval() time.Duration {
	if f.watchError != "" {
		return min(f.period, pollPeriod)
	}
	return f.period
}

// watchFailed reports, once for each cause, that changes are noticed late.
func (f *File) watchFailed(err error) {
	if f.watchError == err.Error() {
		return
	}
	f.watchError = err.Error()
	trace.Point(f.bus, trace.Span{}, trace.Log{
		Level:   "warn",
		Message: fmt.Sprintf("%s cannot be watched, its manifests are read every %s: %v", f.path, f.interval(), err),
	})
}

// timer fires when the next manifest is due; nil if none is.
func (f *File) timer() <-chan time.Time {
	var next time.Time
	for _, m := range f.manifests {
		if !m.due.IsZero() && (next.IsZero() || m.due.Before(next)) {
			next = m.due
		}
	}
	if next.IsZero() {
		return nil
	}
	return time.After(time.Until(next))
}
