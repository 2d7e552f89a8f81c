package compare

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// about is what a line is about: the start as a whole, a part of its critical path, or what is done in it. Lines of both sides with the same
// are one.
type about struct {
	whole whole
	part  waterfall.Part // of the critical path
	kind  waterfall.RowKind
	verb  trace.Verb // of an action
	op    string     // the name of another operation
	on    string     // the container or image
}

// whole is a duration of the start as a whole.
type whole string

const (
	started whole = "seen to started"
	ready   whole = "started to ready"
	floor   whole = "floor"
)

// label names it.
func (a about) label() string {
	switch {
	case a.whole != "":
		return string(a.whole)
	case a.part != waterfall.Part{}:
		return a.part.Label()
	case a.verb == trace.VerbCgroup:
		return "cgroup, dirs"
	}
	return strings.TrimSpace(cmp.Or(string(a.verb), a.op) + " " + a.on)
}

// times are durations by what they are about, in order.
type times struct {
	order []about
	by    map[about]time.Duration
}

func (t *times) add(of about, d time.Duration) {
	if t.by == nil {
		t.by = map[about]time.Duration{}
	}
	if _, ok := t.by[of]; !ok {
		t.order = append(t.order, of)
	}
	t.by[of] += d
}

func (t *times) get(of about) *time.Duration {
	if d, ok := t.by[of]; ok {
		return &d
	}
	return nil
}

func totals(f *waterfall.Waterfall) *times {
	t := &times{}
	if f.Started >= 0 {
		t.add(about{whole: started}, f.Started)
	}
	if f.Started >= 0 && f.Ready >= f.Started {
		t.add(about{whole: ready}, f.Ready-f.Started)
	}
	if f.Floor > 0 {
		t.add(about{whole: floor}, f.Floor)
	}
	return t
}

// path adds up the critical path. What is unexplained comes last, and is always told.
func path(f *waterfall.Waterfall) *times {
	t := &times{}
	for _, s := range f.Path {
		if s.Kind != waterfall.SegmentUnexplained {
			t.add(about{part: s.Part}, s.Dur())
		}
	}
	t.add(about{part: waterfall.Part{Kind: waterfall.SegmentUnexplained}}, f.Unexplained)
	return t
}

// phases adds up the actions and probes by what they are and which container they are for.
func phases(f *waterfall.Waterfall) *times {
	t := &times{}
	for _, r := range f.Rows() {
		if r.Depth == 0 && (r.Kind == waterfall.RowAction || r.Kind == waterfall.RowOp) {
			t.add(aboutRow(r), r.Dur())
		}
	}
	return t
}

// aboutRow names an image without tag or digest: it is what two versions of a pod have in common.
func aboutRow(r waterfall.Row) about {
	a := about{kind: r.Kind, verb: r.Verb, op: r.Label, on: r.Detail}
	if a.verb != "" {
		a.op = ""
	}
	switch a.verb {
	case trace.VerbImage:
		a.on = repository(r.Detail)
	case trace.VerbSandbox, trace.VerbVolumes, trace.VerbClaims, trace.VerbReleaseClaims:
		a.on = ""
	case trace.VerbCgroup, trace.VerbDirs:
		a.verb, a.on = trace.VerbCgroup, "" // one row or two, as they are tiny or not
	case trace.VerbCreate, trace.VerbStart, trace.VerbPostStart, trace.VerbPreStop, trace.VerbResize, trace.VerbResizePod, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	return a
}

// repository is an image without tag or digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}
