package observers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Phase is a part of a pod's life that is one call to the runtime. Times are in Unix nanoseconds.
type Phase struct {
	Pod      string // its UID
	Verb     trace.Verb
	Of       string // the container, or the image where the verb is about one; "" for a sandbox
	From, To int64
}

// same reports whether both are of one kind: which of several of the kind, their times tell.
func (p Phase) same(o Phase) bool { return p.Pod == o.Pod && p.Verb == o.Verb && p.Of == o.Of }

// Phases returns the phases that records tell of, in the order of their ends: calls, and actions that are one call each. An action is left
// out where its call is known: the kubelet's own work around the call is part of it.
func Phases(recs []trace.Record) (out []Phase) {
	for _, s := range phasesOf(recs) {
		out = append(out, s.Phase)
	}
	return out
}

// SpanPhases returns the phases with the begins and ends that the runtime's own spans of their calls have.
func SpanPhases(recs []trace.Record) (out []Phase) {
	calls := map[trace.SpanID]Phase{}
	for _, s := range phasesOf(recs) {
		calls[s.span] = s.Phase
	}
	for i := range recs {
		e, ok := recs[i].Event.(*trace.RuntimeSpan)
		if !ok || e.Call() == "" || recs[i].Observer != trace.ObserverRuntimeSpan {
			continue
		}
		if p, ok := calls[recs[i].Parent]; ok {
			p.From, p.To = e.Start, e.Start+int64(e.Dur)
			out = append(out, p)
		}
	}
	return out
}

// spanned is a phase, with the span of its call or action.
type spanned struct {
	Phase
	span trace.SpanID
}

func phasesOf(recs []trace.Record) (out []spanned) {
	above := map[trace.SpanID]trace.SpanID{} // of pulls, their actions
	of := map[trace.SpanID]*trace.Action{}
	for i := range recs {
		switch e := recs[i].Event.(type) {
		case *trace.Action:
			of[recs[i].Span] = e
		case *trace.ImagePull:
			above[recs[i].Span] = recs[i].Parent
		}
	}
	actionOf := func(call *trace.Record) trace.SpanID { return cmp.Or(above[call.Parent], call.Parent) }
	called := map[trace.SpanID]bool{} // actions whose calls are known
	for i := range recs {
		if _, ok := recs[i].Event.(*trace.CRICall); ok && recs[i].Edge == trace.EdgeEnd {
			called[actionOf(&recs[i])] = true
		}
	}
	for i := range recs {
		r := &recs[i]
		if r.Edge != trace.EdgeEnd || r.Pod.UID == "" {
			continue
		}
		var a *trace.Action
		switch e := r.Event.(type) {
		case *trace.Action:
			if a = e; called[r.Span] {
				continue
			}
		case *trace.CRICall:
			a = of[actionOf(r)]
		}
		if p, ok := phaseOf(a); ok {
			p.Pod, p.From, p.To = r.Pod.UID, r.Start(), r.Time
			out = append(out, spanned{p, r.Span})
		}
	}
	return out
}

func phaseOf(a *trace.Action) (p Phase, ok bool) {
	if a == nil {
		return p, false
	}
	p.Verb = a.Verb
	switch a.Verb { //nolint:exhaustive // the others are no calls
	case trace.VerbSandbox, trace.VerbStopSandbox:
	case trace.VerbImage:
		p.Of = strings.TrimPrefix(a.Target, "docker.io/")
	case trace.VerbCreate, trace.VerbStart, trace.VerbKill:
		p.Of = a.Container
	default:
		return p, false
	}
	return p, true
}

// Truth is what is certain: the calls as a proxy relayed them, and the pods as the API server had them.
type Truth struct {
	Phases []Phase
	names  map[string]string // of pods, by UID
	owners map[string]string // UIDs of pods, by the ids of their sandboxes and containers
}

// NewTruth returns what a proxy's records and the pods' names by UID tell.
func NewTruth(proxy []trace.Record, names map[string]string) *Truth {
	t := &Truth{Phases: Phases(proxy), names: maps.Clone(names), owners: map[string]string{}}
	for i := range proxy {
		if c, ok := proxy[i].Event.(*trace.CRICall); ok && proxy[i].Pod.UID != "" {
			t.owns(proxy[i].Pod.UID, c.Sandbox, c.Container)
		}
	}
	return t
}

func (t *Truth) owns(uid string, ids ...string) {
	for _, id := range ids {
		if id != "" {
			t.owners[id] = uid
		}
	}
}

// Mixed returns the records that name a pod which there is not, or another pod than the one whose sandbox or container they are about.
func (t *Truth) Mixed(recs []trace.Record) (out []trace.Record) {
	for i := range recs {
		r := &recs[i]
		if r.Pod.Name == "" {
			continue
		}
		wrong := r.Pod.UID != "" && t.names[r.Pod.UID] != r.Pod.String() || r.Pod.UID == "" && !slices.Contains(slices.Collect(maps.Values(t.names)), r.Pod.String())
		for _, id := range ids(r.Event) {
			if owner := t.owners[id]; owner != "" && t.names[owner] != r.Pod.String() {
				wrong = true
			}
		}
		if wrong {
			out = append(out, *r)
		}
	}
	return out
}

// ids are those of sandboxes and containers that an event is about.
func ids(e trace.Event) []string {
	switch e := e.(type) {
	case *trace.CRICall:
		return []string{e.Sandbox, e.Container}
	case *trace.PLEGEvent:
		return []string{e.Sandbox, e.Container}
	case *trace.Action:
		return []string{e.Target}
	}
	return nil
}
