package waterfall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// RowKind is the kind of a row.
type RowKind string

// The kinds of row.
const (
	RowSeen   RowKind = "seen"   // the instant the pod was seen
	RowAction RowKind = "action" // a step of the plan
	RowCall   RowKind = "call"   // a CRI call within a step
	RowOp     RowKind = "op"     // another operation: of a volume, a probe, the write of the status to the API
	RowWait   RowKind = "wait"   // a wait
	RowSpan   RowKind = "span"   // the runtime's spans within a call
)

// Row is one bar.
type Row struct {
	Kind   RowKind
	Label  string // sandbox, image, create, start, the method of a call, wait
	Detail string // the subject, such as the image or the container
	// Start and End are since the origin; they are equal for an instant.
	Start, End time.Duration
	Depth      int  // 1 for a row that is nested below the previous row with depth 0, 2 and 3 for spans below a call
	Critical   bool // on the path from seen to started, or to ready
	Open       bool // not ended
	// Note is shown after the bar, for example a pull's size and rate.
	Note  string
	Err   string
	Verb  trace.Verb // the action's verb, for actions
	Topic Topic      // for spans
	Stage Stage
	Wait  trace.WaitKind // for waits
	Span  trace.SpanID   // 0 if the row combines several
	// Observer is who observed it, Precision how exactly Start and End are known.
	Observer  trace.Observer
	Precision time.Duration
}

// Dur returns the bar's duration.
func (r Row) Dur() time.Duration { return r.End - r.Start }

// The order of rows.
const (
	rankSeen = iota
	rankPrepare
	rankVolumes
	rankSandbox
	rankImage
	rankContainer
	rankProbe
	rankOther
	rankWait
	rankStatus
)

func rankOf(verb trace.Verb) int {
	switch verb {
	case trace.VerbCgroup, trace.VerbDirs:
		return rankPrepare
	case trace.VerbVolumes, trace.VerbClaims, trace.VerbReleaseClaims, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox, trace.VerbUnmount, trace.VerbRemoveCgroup:
		return rankVolumes
	case trace.VerbSandbox:
		return rankSandbox
	case trace.VerbImage:
		return rankImage
	case trace.VerbCreate, trace.VerbStart, trace.VerbPostStart:
		return rankContainer
	case trace.VerbPreStop, trace.VerbResize, trace.VerbResizePod, trace.VerbRemoveDirs:
	}
	return rankOther
}

// group is an action or wait with its nested rows.
type group struct {
	rank  int
	first time.Duration // begin of its container's first action; otherwise its own
	rows  []Row
}

func (w *Waterfall) buildRows() []Row {
	seen := Row{Kind: RowSeen, Label: "seen", Critical: true}
	switch {
	case !w.SeenKnown:
		seen.Label, seen.Detail, seen.Critical = "first record", "seen before", false
	case w.Source != "":
		seen.Detail = "← " + string(w.Source)
	}
	groups := []group{{rank: rankSeen, rows: []Row{seen}}}
	first := w.firstOfContainer()
	for _, iv := range w.ivs {
		if a, ok := iv.action(); ok {
			g := group{rank: rankOf(a.Verb), first: iv.start, rows: w.actionRows(iv, a)}
			if g.rank == rankContainer {
				g.first = first[a.Container]
			}
			groups = append(groups, g)
			continue
		}
		if name, _ := w.probeOf(iv); name.Kind != "" {
			continue // part of the probe's row
		}
		if e, ok := iv.wait(); ok && iv.owner() == nil && !AboutStatus(e) && !(w.Ready >= 0 && iv.start >= w.Ready) && (w.onPath[iv] || iv.dur() >= shortWait) {
			groups = append(groups, group{rank: rankWait, first: iv.start, rows: []Row{w.waitRow(iv, e, 0)}})
		}
	}
	groups = append(append(groups, w.probeGroups()...), w.statusGroup()...)
	sorting.Stable(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.first, b.first))
	})
	groups = w.mergePrepare(groups)
	var rows []Row
	for _, g := range groups {
		stage := g.stage()
		for i := range g.rows {
			g.rows[i].Stage = g.rows[i].stageIn(stage)
		}
		rows = append(rows, g.rows...)
	}
	w.observed(rows)
	return rows
}

func (w *Waterfall) firstOfContainer() map[string]time.Duration {
	first := map[string]time.Duration{}
	for _, iv := range w.ivs {
		a, ok := iv.action()
		if !ok || rankOf(a.Verb) != rankContainer {
			continue
		}
		if t, known := first[a.Container]; !known || iv.start < t {
			first[a.Container] = iv.start
		}
	}
	return first
}

// shortWait is the minimum duration of a wait off the critical path that has a row.
const shortWait = time.Millisecond

// tiny returns the maximum duration of nested intervals that are omitted, and of preparation that is merged.
func (w *Waterfall) tiny() time.Duration { return max(w.End/100, time.Millisecond) }

// actionRows returns an action's row and its nested rows.
func (w *Waterfall) actionRows(iv *interval, a trace.Action) []Row {
	row := Row{
		Kind: RowAction, Label: cmp.Or(string(a.Verb), a.ID), Detail: short(cmp.Or(a.Container, a.Target)), Verb: a.Verb,
		Start: iv.start, End: iv.end, Open: iv.open, Err: iv.err(), Span: iv.id, Critical: w.onPath[iv],
	}
	if row.Open {
		row.Err = ""
	}
	switch a.Verb {
	case trace.VerbImage:
		row.Detail = human.Image(cmp.Or(a.Target, a.Container))
		row.Note = pullNote(iv)
	case trace.VerbVolumes:
		row.Detail = strings.Join(volumeNames(iv), " ")
	case trace.VerbSandbox, trace.VerbClaims, trace.VerbReleaseClaims:
		row.Detail = ""
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbCreate, trace.VerbStart, trace.VerbPostStart, trace.VerbPreStop, trace.VerbResize, trace.VerbResizePod, trace.VerbKill, trace.VerbStopSandbox, trace.VerbRemove, trace.VerbRemoveSandbox, trace.VerbUnmount, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	nested := w.nested(iv)
	if len(nested) == 1 && nested[0].Kind == RowCall && (row.Detail == "" || nested[0].Err == "") {
		row.Detail = cmp.Or(row.Detail, nested[0].Label)
		nested = nil
	}
	return append([]Row{row}, nested...)
}

// nested returns the rows of an action's content. It omits tiny ones, but never the first failure of each operation.
func (w *Waterfall) nested(a *interval) []Row {
	var rows []Row
	below := map[trace.SpanID][]Row{}
	failed := map[operation]bool{}
	a.within(func(iv *interval) {
		of := operationOf(iv.event())
		first := iv.err() != "" && !failed[of]
		if failed[of] = failed[of] || first; iv.dur() < w.tiny() && !first {
			return
		}
		switch e := iv.event().(type) {
		case *trace.CRICall:
			rows = append(rows, Row{
				Kind: RowCall, Label: e.Method, Start: iv.start, End: iv.end, Depth: 1, Open: iv.open,
				Err: iv.err(), Span: iv.id, Critical: w.onPath[a],
			})
			below[iv.id] = w.spanRows(iv)
		case *trace.Wait:
			rows = append(rows, w.waitRow(iv, e, 1))
		case *trace.Volume:
			rows = append(rows, Row{
				Kind: RowOp, Label: string(e.Op), Detail: e.Name, Start: iv.start, End: iv.end, Depth: 1, Open: iv.open,
				Note: chownNote(iv), Err: iv.err(), Span: iv.id, Critical: w.onPath[a],
			})
		case *trace.CSICall:
			rows = append(rows, Row{
				Kind: RowCall, Label: e.Method, Detail: e.Driver, Start: iv.start, End: iv.end, Depth: 1, Open: iv.open,
				Err: iv.err(), Span: iv.id, Critical: w.onPath[a],
			})
		}
	})
	sorting.Stable(rows, func(a, b *Row) int { return cmp.Compare(a.Start, b.Start) })
	var out []Row
	for _, r := range rows {
		out = append(out, r)
		if r.Kind == RowCall {
			out = append(out, below[r.Span]...)
		}
	}
	return out
}

// operation is the key by which the content of an action is grouped.
type operation struct {
	kind     trace.Kind
	what, of string
}

func operationOf(e trace.Event) operation {
	switch e := e.(type) {
	case *trace.CRICall:
		return operation{e.Kind(), e.Method, ""}
	case *trace.Volume:
		return operation{e.Kind(), string(e.Op), e.Name}
	case *trace.CSICall:
		return operation{e.Kind(), e.Method, e.Volume}
	}
	return operation{kind: e.Kind()}
}

func (w *Waterfall) waitRow(iv *interval, e *trace.Wait, depth int) Row {
	return Row{
		Kind: RowWait, Label: "wait", Detail: say.Waiting(e), Start: iv.start, End: iv.end,
		Depth: depth, Open: iv.open, Wait: e.For, Note: say.Detail(e, w.began(iv)), Span: iv.id, Critical: w.onPath[iv],
	}
}

// mergePrepare merges admission, cgroup and directories to one row if they are tiny together.
func (w *Waterfall) mergePrepare(groups []group) []group {
	var labels []string
	merged := Row{Kind: RowAction, Start: w.End, Detail: ""}
	n := 0
	for _, g := range groups {
		if g.rank != rankPrepare {
			continue
		}
		r := g.rows[0]
		if len(g.rows) > 1 || r.Err != "" || r.Open {
			return groups
		}
		n++
		if !slices.Contains(labels, r.Label) {
			labels = append(labels, r.Label)
		}
		merged.Start, merged.End = min(merged.Start, r.Start), max(merged.End, r.End)
		merged.Critical = merged.Critical || r.Critical
	}
	if n < 2 || merged.Dur() > max(2*w.tiny(), 5*time.Millisecond) {
		return groups
	}
	merged.Label, merged.Verb = strings.Join(labels, " · "), trace.VerbCgroup
	out := slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return g.rank == rankPrepare })
	return slices.Insert(out, 1, group{rank: rankPrepare, rows: []Row{merged}})
}

func volumeNames(iv *interval) []string {
	var names []string
	seen := map[string]bool{}
	iv.within(func(k *interval) {
		if v, ok := k.event().(*trace.Volume); ok && !seen[v.Name] {
			seen[v.Name] = true
			names = append(names, v.Name)
		}
	})
	return names
}

// pullNote returns a pull's size and rate, or its progress.
func pullNote(iv *interval) string {
	p := iv.pull()
	if p == nil {
		return ""
	}
	e, _ := p.event().(*trace.ImagePull)
	switch {
	case e != nil && e.Shared:
		return "another pod's pull"
	case e != nil && e.Bytes > 0 && !p.open && p.dur() > 0:
		return fmt.Sprintf("%s, %s", human.Bytes(e.Bytes), human.Rate(e.Bytes, p.dur()))
	case p.open && p.progress != nil:
		return say.Arrived(p.progress.Done, p.progress.Total)
	}
	return ""
}
