package waterfall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// AboutStatus distinguishes waits for the writing of a pod's status from those that delay the pod itself.
func AboutStatus(e *trace.Wait) bool {
	return (e.Target.Kind == trace.TargetStatuses || e.Target.Kind == trace.TargetStatus) && slices.Contains([]trace.WaitKind{trace.WaitBackoff, trace.WaitQueue, trace.WaitTokens}, e.For)
}

// SaysReady reports whether a write sets the condition Ready of the pod to True.
func SaysReady(e *trace.StatusPatch) bool {
	return slices.ContainsFunc(e.Changed, func(c trace.Change) bool { return c.Sets("Ready", "True") })
}

// inAPI finds the write that set the pod's readiness in the API, and when that succeeded; -1 if it has not.
func (w *Waterfall) inAPI(own []trace.Record) {
	w.Told, w.hasAPI = -1, w.Source == trace.SourceAPI && !fromAfar(own) // other observers may not see the writes of statuses
	for _, s := range pair.In[*trace.StatusPatch](own, time.Time{}) {
		if s.Event.Op != trace.PatchStatus {
			continue
		}
		w.hasAPI = true
		if s.Open || w.Ready < 0 || s.Event.Err != "" || w.Told >= 0 {
			continue
		}
		if after := s.Start.UnixNano() >= w.t0+int64(w.Ready); after || SaysReady(s.Event) {
			w.Told = max(time.Duration(s.End.Time-w.t0), w.Ready)
		}
	}
}

// fromAfar reports whether another observer than the agent saw the pod arrive.
func fromAfar(own []trace.Record) bool {
	return slices.ContainsFunc(own, func(r trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && m.Name == trace.MilestoneSeen && r.Observer != trace.ObserverAgent
	})
}

// probeGroups returns a row for each startup and readiness probe, from its first attempt (or wait for it) to the first
// success.
func (w *Waterfall) probeGroups() []group {
	by, order := map[trace.Target]*Row{}, []trace.Target{}
	attempts := map[trace.Target]int{}
	done := map[trace.Target]bool{}
	for _, iv := range w.ivs {
		name, e := w.probeOf(iv)
		if name.Kind == "" || done[name] {
			continue
		}
		row := by[name]
		if row == nil {
			row = &Row{Kind: RowOp, Label: name.Name + " probe", Detail: name.Container, Start: iv.start, Span: iv.id}
			by[name], order = row, append(order, name)
		}
		row.End, row.Open = max(row.End, iv.end), iv.open
		row.Critical = row.Critical || w.onPath[iv]
		if e == nil || iv.open || e.Result == "" || e.Early && e.Result != trace.ProbeSuccess {
			continue
		}
		attempts[name]++
		row.Note = ""
		if n := attempts[name]; n > 1 {
			row.Note = fmt.Sprintf("%d attempts", n)
		}
		switch {
		case e.State == trace.ProbeSays:
			done[name] = true
			row.Err = ""
		case e.Result == trace.ProbeFailure || e.Result == trace.ProbeError:
			row.Err = cmp.Or(e.Output, string(e.Result))
		}
	}
	var out []group
	for _, name := range order {
		row := *by[name]
		row.Open = row.Open && !done[name]
		out = append(out, group{rank: rankProbe, first: row.Start, rows: []Row{row}})
	}
	return out
}

// probeOf returns the probe of an attempt, or of a wait for one; "" for other intervals. Waits count only if there are
// attempts: otherwise they have their own rows. Intervals after ready do not count.
func (w *Waterfall) probeOf(iv *interval) (name trace.Target, e *trace.ProbeAttempt) {
	if w.Ready >= 0 && iv.start >= w.Ready {
		return name, nil
	}
	switch e := iv.event().(type) {
	case *trace.ProbeAttempt:
		if e.Probe != trace.ProbeLiveness {
			return trace.Target{Kind: trace.TargetProbe, Name: string(e.Probe), Container: e.Container}, e
		}
	case *trace.Wait:
		if e.For == trace.WaitProbe && w.attempted[e.Target] {
			return e.Target, nil
		}
	}
	return name, nil
}

// findAttempts finds the probes with attempts.
func (w *Waterfall) findAttempts() {
	w.attempted = map[trace.Target]bool{}
	for _, iv := range w.ivs {
		if e, ok := iv.event().(*trace.ProbeAttempt); ok && e.Probe != trace.ProbeLiveness {
			w.attempted[trace.Target{Kind: trace.TargetProbe, Name: string(e.Probe), Container: e.Container}] = true
		}
	}
}

// statusGroup is the write of the ready pod's status to the API: its attempts and its waits.
func (w *Waterfall) statusGroup() []group {
	if w.Ready < 0 || !w.hasAPI {
		return nil
	}
	row := Row{Kind: RowOp, Label: "status", Detail: "Ready in the API", Start: w.Ready, End: w.Told, Open: w.Told < 0}
	if row.Open {
		row.End = w.End
	}
	var nested []Row
	tries := 0
	for _, iv := range w.ivs {
		if iv.end < w.Ready || iv.start > row.End {
			continue
		}
		switch e := iv.event().(type) {
		case *trace.StatusPatch:
			if e.Op != trace.PatchStatus {
				continue
			}
			tries++
			row.Start = min(row.Start, iv.start)
			if iv.open || iv.err() != "" || iv.dur() >= w.tiny() && row.End-row.Start > 2*iv.dur() {
				nested = append(nested, Row{
					Kind: RowOp, Label: "patch", Start: iv.start, End: min(iv.end, row.End), Depth: 1, Open: iv.open, Err: iv.err(), Span: iv.id,
				})
			}
			if !iv.open {
				if row.Span = iv.id; e.Bytes > 0 {
					row.Note = human.Bytes(int64(e.Bytes))
				}
			}
		case *trace.Wait:
			if AboutStatus(e) && iv.dur() >= shortWait {
				nested = append(nested, w.waitRow(iv, e, 1))
			}
		}
	}
	if tries > 1 {
		row.Note = strings.TrimPrefix(row.Note+fmt.Sprintf(", %d tries", tries), ", ")
	}
	return []group{{rank: rankStatus, first: row.Start, rows: append([]Row{row}, nested...)}}
}

// chownNote returns how many files of a volume were changed.
func chownNote(iv *interval) string {
	p := iv.chown
	if p == nil {
		return ""
	}
	return say.Files(p)
}
