package compare

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// times are durations by label, in order.
type times struct {
	labels []string
	by     map[string]time.Duration
}

func (t *times) add(label string, d time.Duration) {
	if t.by == nil {
		t.by = map[string]time.Duration{}
	}
	if _, ok := t.by[label]; !ok {
		t.labels = append(t.labels, label)
	}
	t.by[label] += d
}

func (t *times) get(label string) *time.Duration {
	if d, ok := t.by[label]; ok {
		return &d
	}
	return nil
}

// The labels that this package gives.
const (
	labelStarted     = "seen to started"
	labelReady       = "started to ready"
	labelFloor       = "floor"
	labelUnexplained = "unexplained"
)

func totals(f *waterfall.Waterfall) *times {
	t := &times{}
	if f.Started >= 0 {
		t.add(labelStarted, f.Started)
	}
	if f.Started >= 0 && f.Ready >= f.Started {
		t.add(labelReady, f.Ready-f.Started)
	}
	if f.Floor > 0 {
		t.add(labelFloor, f.Floor)
	}
	return t
}

// path adds up the critical path. What is unexplained comes last, and is always told.
func path(f *waterfall.Waterfall) *times {
	t := &times{}
	for _, s := range f.Path {
		if s.Kind != waterfall.SegmentUnexplained {
			t.add(s.Label(), s.Dur())
		}
	}
	t.add(labelUnexplained, f.Unexplained)
	return t
}

// phases adds up the actions and probes by what they are and which container they are for. An image is named without
// tag or digest: it is what two versions of a pod have in common.
func phases(f *waterfall.Waterfall) *times {
	t := &times{}
	for _, r := range f.Rows() {
		if r.Depth > 0 || (r.Kind != waterfall.RowAction && r.Kind != waterfall.RowOp) {
			continue
		}
		t.add(labelOf(r), r.Dur())
	}
	return t
}

func labelOf(r waterfall.Row) string {
	switch r.Verb {
	case trace.VerbImage:
		return strings.TrimSpace("image " + repository(r.Detail))
	case trace.VerbSandbox, trace.VerbVolumes:
		return string(r.Verb)
	case trace.VerbCgroup, trace.VerbDirs:
		return "cgroup, dirs" // one row or two, as they are tiny or not
	case trace.VerbCreate, trace.VerbStart, trace.VerbPostStart, trace.VerbPreStop, trace.VerbResize, trace.VerbResizePod, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	return strings.TrimSpace(r.Label + " " + r.Detail)
}

// repository is an image without tag or digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// find returns the line with that label.
func find(lines []Line, label string) (Line, bool) {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Label == label })
	if i < 0 {
		return Line{}, false
	}
	return lines[i], true
}
