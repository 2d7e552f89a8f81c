package waterfall

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// ErrNoRecords is returned when no record is about the pod.
var ErrNoRecords = errors.New("no records of this pod")

// ErrAdopted is returned when the pod's containers were found running: its start was not seen.
var ErrAdopted = errors.New("the pod was found running: its start was not seen")

// Waterfall is one start of a pod. All durations are since Origin.
//
// Many fields: it has the structure of the JSON waterfall, which is flat so that jq can read it easily.
type Waterfall struct {
	Pod    trace.Pod
	Source trace.SourceName // the pod's source; "" if unknown
	// Origin is when the pod was seen, or the time of the first record if SeenKnown is false.
	Origin    time.Time
	SeenKnown bool
	// Started and Ready are -1 if the pod has not reached them.
	Started, Ready time.Duration
	// Told is when the pod's readiness was in the API; -1 if it is not, or without an API.
	Told time.Duration
	// End is where the drawing ends: when the status was in the API or, without an API, ready; before that, the last record (or
	// now).
	End time.Duration
	// Phase is the last status's phase; "" if unknown.
	Phase string
	// Floor is what the runtime itself needed: RunPodSandbox, and each CreateContainer and StartContainer on the
	// critical path. 0 if unknown.
	Floor time.Duration
	// Path is the critical path from Origin to Started (to End while the pod has not started), in order and without
	// gaps. Tail continues from Started to Ready.
	Path, Tail []Segment
	// Waits are the waits on Path by kind, longest first.
	Waits []WaitTotal
	// Unexplained is the time on Path that no record covers.
	Unexplained time.Duration
	// Incomplete says that records of this start are known to be missing.
	Incomplete bool

	ivs []*interval
	t0  int64
	// onPath has the actions and waits on the path.
	onPath map[*interval]bool
	// attempted are the probes with attempts.
	attempted map[trace.Target]bool
	// spans are the runtime's, by the call (or the missing span) above them.
	spans  map[trace.SpanID][]*rspan
	others map[trace.SpanID]sighting // spans of other observers
	hasAPI bool                      // statuses are written
	never  bool                      // it cannot start any more
}

// WaitTotal is the duration of the critical path's waits of one kind.
type WaitTotal struct {
	For trace.WaitKind
	Dur time.Duration
}

// Build explains the last start of pod in recs, which must be in order. Spans that have not ended are drawn up to the
// last record.
func Build(recs []trace.Record, pod trace.Pod) (*Waterfall, error) {
	return BuildAt(recs, pod, time.Time{})
}

// BuildAt is Build, but draws spans that have not ended up to now.
func BuildAt(recs []trace.Record, pod trace.Pod, now time.Time) (*Waterfall, error) {
	own := lastLife(recs, pod)
	if len(own) == 0 {
		return nil, fmt.Errorf("waterfall of %s: %w", pod, ErrNoRecords)
	}
	w := &Waterfall{Pod: pod, Started: -1, Ready: -1, onPath: map[*interval]bool{}}
	marks := milestones(own)
	if found(marks) {
		return nil, fmt.Errorf("waterfall of %s: %w", pod, ErrAdopted)
	}
	end := own[0].Time
	for i := range own {
		if _, late := own[i].Event.(*trace.RuntimeSpan); !late {
			end = max(end, own[i].Time)
		}
	}
	if !now.IsZero() {
		end = max(end, now.UnixNano())
	}
	w.place(own, marks, end)
	w.collect(own)
	w.collectSpans(own)
	w.collectOthers(own)
	w.findAttempts()
	w.findPath(needsOf(own))
	w.floor()
	return w, nil
}

// found reports whether the pod was found running, or was found running and ended at once.
func found(marks map[trace.MilestoneName]*mark) bool {
	for _, m := range marks {
		if m.adopted {
			return true
		}
	}
	return false
}

// Rows returns the rows to draw, in order.
func (w *Waterfall) Rows() []Row {
	rows := w.buildRows()
	for i := range rows {
		rows[i].Note = noise.Of(rows[i].Note)
	}
	return rows
}

// lastLife returns the records of the pod since it was last seen: a part of recs if no others are among them.
func lastLife(recs []trace.Record, pod trace.Pod) []trace.Record {
	isOwn := func(r *trace.Record) bool { return r.Pod == pod && r.Event != nil }
	from, n := 0, 0
	for i := range recs {
		if !isOwn(&recs[i]) {
			continue
		}
		if m, ok := recs[i].Event.(*trace.Milestone); ok && m.Name == trace.MilestoneSeen {
			from, n = i, 0
		}
		n++
	}
	recs = recs[from:]
	if n == len(recs) {
		return recs
	}
	own := make([]trace.Record, 0, n)
	for i := range recs {
		if isOwn(&recs[i]) {
			own = append(own, recs[i])
		}
	}
	return own
}

// mark is a milestone.
type mark struct {
	at      int64
	since   time.Duration
	adopted bool
	final   bool
	source  trace.SourceName
}

// milestones returns the first of each name.
func milestones(own []trace.Record) map[trace.MilestoneName]*mark {
	out := map[trace.MilestoneName]*mark{}
	for i := range own {
		if e, ok := own[i].Event.(*trace.Milestone); ok && out[e.Name] == nil {
			m := &mark{at: own[i].Time, since: min(max(e.Since, 0), time.Duration(own[i].Time)), adopted: e.Adopted, final: e.Final, source: e.Source}
			if seen := out[trace.MilestoneSeen]; own[i].Precision > 0 && m.since > 0 && seen != nil { // it was observed later than it happened
				m.at = max(min(m.at, seen.at+int64(m.since)), m.at-int64(own[i].Precision.Duration()))
			}
			out[e.Name] = m
		}
	}
	return out
}

// place sets the origin and the milestones relative to it.
func (w *Waterfall) place(own []trace.Record, marks map[trace.MilestoneName]*mark, end int64) {
	started, ready := marks[trace.MilestoneStarted], marks[trace.MilestoneReady]
	switch seen := marks[trace.MilestoneSeen]; {
	case seen != nil:
		w.t0, w.SeenKnown, w.Source = seen.at, true, seen.source
	case started != nil && started.since > 0:
		w.t0, w.SeenKnown = started.at-int64(started.since), true
	case ready != nil && ready.since > 0:
		w.t0, w.SeenKnown = ready.at-int64(ready.since), true
	default:
		w.t0 = own[0].Start()
		for i := range own {
			w.t0 = min(w.t0, own[i].Start())
		}
	}
	w.Origin = time.Unix(0, w.t0)
	if started != nil {
		w.Started = time.Duration(max(started.at-w.t0, 0))
	}
	if ready != nil { // two observers may tell of these by some milliseconds in the wrong order
		w.Ready = max(time.Duration(ready.at-w.t0), w.Started, 0)
	}
	w.inAPI(own)
	switch {
	case w.Told >= 0:
		end = w.t0 + int64(w.Told)
	case w.Ready >= 0 && !w.hasAPI:
		end = w.t0 + int64(w.Ready)
	case started != nil && started.final && w.Ready < 0:
		end = started.at
	case w.Started < 0 && w.Ready < 0:
		if at := final(own); at > 0 {
			end, w.never = min(end, at), true
		}
	}
	if m := marks[trace.MilestoneTerminating]; m != nil {
		end = min(end, m.at)
	}
	w.End = max(time.Duration(end-w.t0), w.Started, w.Ready, w.Told, 0)
	for i := range own {
		if s, ok := own[i].Event.(*trace.PodStatus); ok {
			w.Phase = string(s.Phase)
		}
	}
}

// final returns when it was clear that a pod will not start: the kubelet rejected it, or its phase became one that it does not leave. It
// returns 0 if that was never so.
func final(own []trace.Record) int64 {
	for i := range own {
		switch e := own[i].Event.(type) {
		case *trace.PodStatus:
			if e.Phase.Terminal() {
				return own[i].Time
			}
		case *trace.Decision:
			if e.By == trace.ByAdmission && e.Verdict == trace.VerdictReject {
				return own[i].Time
			}
		}
	}
	return 0
}

// Never reports whether the pod cannot start any more: the kubelet rejected it, or its phase is one that it does not leave.
func (w *Waterfall) Never() bool { return w.never }

// needsOf returns what each step of the pod's plans needs, for all plans together.
func needsOf(own []trace.Record) map[string]map[string]bool {
	needs := map[string]map[string]bool{}
	for i := range own {
		plan, ok := own[i].Event.(*trace.Plan)
		if !ok {
			continue
		}
		for _, s := range plan.Steps {
			if needs[s.ID] == nil {
				needs[s.ID] = map[string]bool{}
			}
			for _, n := range s.Needs {
				needs[s.ID][n] = true
			}
		}
	}
	return needs
}

// totals adds up the path's waits and the unexplained time.
func (w *Waterfall) totals() {
	by := map[trace.WaitKind]time.Duration{}
	for _, s := range w.Path {
		switch s.Kind {
		case SegmentWait:
			by[s.Wait] += s.Dur()
		case SegmentUnexplained:
			w.Unexplained += s.Dur()
		case SegmentWork:
		}
	}
	for kind, d := range by {
		w.Waits = append(w.Waits, WaitTotal{For: kind, Dur: d})
	}
	sorting.Stable(w.Waits, func(a, b *WaitTotal) int {
		return cmp.Or(cmp.Compare(b.Dur, a.Dur), cmp.Compare(a.For, b.For))
	})
}
