package waterfall

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// SegmentKind is what a part of the critical path consists of.
type SegmentKind string

// The kinds of segment.
const (
	SegmentWork        SegmentKind = "work"
	SegmentWait        SegmentKind = "wait"
	SegmentUnexplained SegmentKind = "unexplained"
)

// Part is the use of a part of the path. Segments with the same Part are added up.
type Part struct {
	Kind SegmentKind
	// Verb is the action's verb. ID is its name in the plan, if the verb is not unique.
	Verb  trace.Verb
	ID    string
	Pull  bool           // the action is a pull
	Probe string         // startup or readiness, for attempts of probes
	Wait  trace.WaitKind // for waits
}

// Label returns the part's name: pull, sandbox, create web, wait queue, readiness probe, unexplained.
func (p Part) Label() string {
	switch {
	case p.Kind == SegmentUnexplained:
		return "unexplained"
	case p.Kind == SegmentWait:
		return "wait " + string(p.Wait)
	case p.Probe != "":
		return p.Probe + " probe"
	case p.Pull:
		return "pull"
	}
	return cmp.Or(p.ID, string(p.Verb))
}

// Phase returns the part without its subject, so that it is the same for many starts: create, for create web.
func (p Part) Phase() Part {
	if p.Verb != "" {
		p.ID = ""
	}
	return p
}

// Segment is a part of the critical path.
type Segment struct {
	Part
	Start, End time.Duration
	iv         *interval
}

// Dur returns the segment's duration.
func (s Segment) Dur() time.Duration { return s.End - s.Start }

// Span returns the span of the segment's action or wait; 0 if there is none. If a stream has no actions, it is the span
// of the CRI call.
func (s Segment) Span() trace.SpanID {
	switch {
	case s.iv == nil:
		return 0
	case s.iv.id == 0 && len(s.iv.kids) > 0:
		return s.iv.kids[0].id
	}
	return s.iv.id
}

// part returns the part of an action.
func (iv *interval) part() Part {
	a, _ := iv.action()
	p := Part{Kind: SegmentWork, Verb: a.Verb}
	if a.Verb == trace.VerbImage {
		p.Pull = iv.pull() != nil
	} else if !slices.Contains([]trace.Verb{trace.VerbSandbox, trace.VerbVolumes, trace.VerbClaims, trace.VerbReleaseClaims, trace.VerbCgroup, trace.VerbDirs}, a.Verb) {
		p.ID = a.ID
	}
	return p
}
