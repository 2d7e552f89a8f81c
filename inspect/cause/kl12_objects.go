package cause

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// throttledObjects are the requests that waited for the client's limit, whose pod is not known, and that are for objects which this pod refers
// to. A kubelet sends one request for an object that several pods need.
func (c *Case) throttledObjects() (out []holdup) {
	spec := c.spec()
	if spec == nil || len(spec.Objects) == 0 {
		return nil
	}
	waits := nodeSpans[*trace.Wait](c)
	for i := range waits {
		w := &waits[i]
		of := w.Event.Request
		if w.Event.For != trace.WaitTokens || w.Event.Target.Kind != trace.TargetClient || !w.Rec().Pod.IsZero() || of.Namespace != c.Pod.Namespace ||
			!slices.Contains(spec.Objects, trace.Object{Kind: of.Kind, Name: of.Name}) {
			continue
		}
		what := say.Target(of)
		out = append(out, holdup{at: c.onObjects(w.Start, w.Stop), what: what, evidence: evidence(w.Rec(), "the request for %s waited %s for client throttling", what, took(w.Dur(), w.Open)), open: w.Open, target: of.Kind})
	}
	return out
}

// onObjects are the parts of the critical path between two times in which the pod waited for objects: its volumes, without what storage took,
// and the waits to retry because of an object. Such a wait counts as a whole if it begins between the times: the attempt before it failed
// then.
func (c *Case) onObjects(from, to time.Time) (out []stretch) {
	for _, h := range c.objectHoldups() {
		for _, s := range h.at {
			if s.from.Before(from) || s.from.After(to) {
				out = append(out, clip([]stretch{s}, from, to)...)
			} else {
				out = append(out, s)
			}
		}
	}
	var setUp []stretch
	for _, a := range ownSpans[*trace.Action](c) {
		if a.Event.Verb == trace.VerbVolumes {
			setUp = append(setUp, c.on(a.ID(), laterOf(a.Start, from), earlierOf(a.Stop, to))...)
		}
	}
	return append(out, without(setUp, c.storage())...)
}

// storage is when storage was attached and set up for the pod, or was about to be again.
func (c *Case) storage() (out []stretch) {
	names := map[string]bool{}
	for _, v := range ownSpans[*trace.Volume](c) {
		if !objectPlugin(v.Event.Plugin) {
			names[v.Event.Name] = true
			out = append(out, stretch{v.Start, v.Stop})
		}
	}
	for _, w := range ownSpans[*trace.Wait](c) {
		if t := w.Event.Target; w.Event.For == trace.WaitAttach || t.Kind == trace.TargetVolume && names[t.Name] {
			out = append(out, stretch{w.Start, w.Stop})
		}
	}
	return out
}
