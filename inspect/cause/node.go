package cause

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// A node's trouble is told of when it lasts: a kubelet that starts waits for its runtime and its network for a while.
const (
	longNoNetwork = 30 * time.Second
	// stillThere is how late before a log's end the last sign may be of what goes on: kubelets repeat it each 5 s.
	stillThere = 15 * time.Second
)

// FindNode returns the findings about a node, independent of its pods: a case without a pod. An agent publishes, and a kubelet logs, a runtime
// that does not respond, a missing network and resource pressure of the node also without naming a pod.
func FindNode(c *Case) (out []Finding) {
	for _, find := range []struct {
		rule Rule
		find func(*Case) *Finding
	}{
		{networkNotReady(), nodeNetwork},
		{stalledRuntime(), nodeRuntime},
		{surprise(), nodeEvicts},
		{blockedLoop(), nodeLoop},
		{cpuPressure(), cpuFigures().ofNode},
		{memoryPressure(), memoryFigures().ofNode},
		{ioPressure(), ioFigures().ofNode},
	} {
		f := find.find(c)
		if f == nil {
			continue
		}
		f.ID, f.Name, f.Evidence = find.rule.ID, find.rule.Name, few(f.Evidence)
		f.Sentence, f.Remedy, f.RuledOutBy = noise.Of(f.Sentence), noise.Of(f.Remedy), noise.Of(f.RuledOutBy)
		out = append(out, *f)
	}
	sorting.Stable(out, func(a, b *Finding) int { return cmp.Compare(b.Cost, a.Cost) })
	return out
}

// nodeNetwork is a runtime that has had no pod network for long, and has none at the end.
func nodeNetwork(c *Case) *Finding {
	waits := nodeSpans[*trace.Wait](c)
	for i := range slices.Backward(waits) {
		w := &waits[i]
		if w.Event.For != trace.WaitRuntime || w.Event.Target.Kind != trace.TargetNetwork || !w.Rec().Pod.IsZero() {
			continue
		}
		if !w.Open || w.Dur() < longNoNetwork {
			return nil
		}
		f := &Finding{Confidence: Likely, Cost: w.Dur(), Current: true, Evidence: []Evidence{waitEvidence(w)}}
		f.Sentence, f.Remedy = networkText(w.Event.Cause, w.Event.Class, w.Event.Plugin, 0)
		f.Sentence += "; for " + took(w.Dur(), true)
		f.RuledOutBy = "crictl info shows NetworkReady true for all of that time."
		return f
	}
	return nil
}

// nodeRuntime is a runtime that did not answer, for some time or within a deadline.
func nodeRuntime(c *Case) *Finding {
	var at []stretch
	f := &Finding{Confidence: Certain, Remedy: runtimeRemedy, RuledOutBy: runtimeRuledOut}
	what, long, late := "", time.Duration(-1), false
	for _, s := range c.nodeStalls() {
		at = append(at, s.stretch)
		f.Evidence = append(f.Evidence, s.evidence)
		f.Current = f.Current || s.open
		late = late || s.own
		if d := s.to.Sub(s.from); d > long {
			what, long = s.what, d
		}
	}
	f.Cost = covered(at)
	if len(at) == 0 || !late && !f.Current && f.Cost < lateAnswer {
		return nil
	}
	f.Sentence = "the container runtime did not answer or report in time: " + what
	if f.Cost > 0 {
		f.Sentence = fmt.Sprintf("the container runtime did not answer or report in time for %s: %s", took(f.Cost, f.Current), what)
	}
	return f
}

// nodeStalls are the node's stalls; own says of one that a deadline passed.
func (c *Case) nodeStalls() (out []stall) {
	var lost *stall
	calls := nodeSpans[*trace.CRICall](c)
	for i := range calls {
		k := &calls[i]
		if !k.Rec().Pod.IsZero() || k.Open || !unanswered(k.Event) {
			continue
		}
		s := stall{stretch{k.Start, k.Stop}, callEvidence(k), k.Event.Code == "DeadlineExceeded", false, k.Event.Method + " ended with " + k.Event.Code}
		if lost != nil && s.from.Sub(lost.to) < stillThere { // it tries again and again
			lost.to, lost.own = s.to, lost.own || s.own
			continue
		}
		out = append(out, s)
		lost = &out[len(out)-1]
	}
	waits := nodeSpans[*trace.Wait](c)
	for i := range waits {
		if w := &waits[i]; w.Event.For == trace.WaitRuntime && w.Event.Target.Kind == trace.TargetRuntime && w.Rec().Pod.IsZero() {
			out = append(out, stall{stretch{w.Start, w.Stop}, waitEvidence(w), false, w.Open, "the runtime was not ready: " + quoted(w.Event.Cause)})
		}
	}
	return out
}

// nodeEvicts is a node that has to evict pods, because it is short of something.
func nodeEvicts(c *Case) *Finding {
	var f *Finding
	n, of := 0, ""
	for _, d := range nodePoints[*trace.Decision](c) {
		if d.Event.By != trace.ByEviction || d.Event.Verdict != trace.VerdictShort {
			continue
		}
		if f == nil {
			f = &Finding{Confidence: Certain}
		}
		n, of = n+1, d.Event.Subject
		f.Evidence = append(f.Evidence, evidence(d.Rec, "short of %s: %s", d.Event.Subject, quoted(d.Event.Reason)))
		f.Current = c.Now.Sub(d.Rec.At()) < stillThere
	}
	if f == nil {
		return nil
	}
	f.Sentence = fmt.Sprintf("the node was short of %s, and the kubelet had to evict pods or to refuse them (it did %s)", of, times(n))
	f.Remedy = "Give the node more of it, or use less: kubectl describe node shows the pressure, the pods' requests and limits what they may use. Images and logs count for ephemeral-storage."
	f.RuledOutBy = "The eviction thresholds of the kubelet's configuration are far from what the node has (df, free): then its figures are stale."
	return f
}
