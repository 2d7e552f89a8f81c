package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// longSandbox is how long RunPodSandbox takes at least to be called hung.
const longSandbox = 5 * time.Second

// failedFor are calls that failed for one reason, by their spans.
type failedFor map[trace.SpanID]bool

// networkFailures are the pod's RunPodSandbox that failed for the network: what a plugin took in these is KL07's.
func (c *Case) networkFailures() failedFor {
	failed, _ := c.failedCalls("RunPodSandbox", func(s *Span[*trace.CRICall]) bool { return cniError(s.Event.Class) })
	out := failedFor{}
	for i := range failed {
		out[failed[i].ID()] = true
	}
	return out
}

// has reports whether a span is part of one of the calls.
func (f failedFor) has(c *Case, span trace.SpanID) (has bool) {
	if len(f) == 0 {
		return false
	}
	above(c.parents(), span, func(up trace.SpanID) { has = has || f[up] })
	return has
}

// hungNetwork is a RunPodSandbox that does not return, or ran into its deadline, after a CNI plugin ran in it: the network is the last thing
// that it was seen to do, and the runtime answered others meanwhile.
func (c *Case) hungNetwork() []Finding {
	f := Finding{Confidence: Likely}
	last, runs := pluginRun{}, c.pluginRuns(0)
	calls := ownSpans[*trace.CRICall](c)
	for i := range calls {
		k := &calls[i]
		if k.Event.Method != "RunPodSandbox" || k.Dur() < longSandbox || !k.Open && !unanswered(k.Event) || !c.answered(k) {
			continue
		}
		var ran *pluginRun
		for j := range runs {
			if within(c.parents(), runs[j].Rec.Span, k.ID()) {
				ran = &runs[j]
			}
		}
		if ran == nil || k.Stop.Sub(spanEnd(ran.Event)) < longSandbox {
			continue
		}
		last = *ran
		f.Cost += k.Stop.Sub(spanEnd(ran.Event))
		f.Current = f.Current || k.Open && c.stuck()
		f.Evidence = append(f.Evidence, callEvidence(k), ran.evidence())
	}
	if len(f.Evidence) == 0 || !c.speaks(f.Cost, f.Current) {
		return nil
	}
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("the setup of the pod's network (CNI ADD) has not returned: RunPodSandbox continues for %s after the last plugin that was seen to end (%s), while the runtime answers other calls",
		took(f.Cost, f.Current), last.name)
	f.Remedy = "Look for a CNI plugin that still runs on the node (ps -ef | grep -F /cni/bin/), and at the log of the network's daemon: the plugin that follows " + last.name + " in /etc/cni/net.d does not return."
	f.RuledOutBy = "No process of a CNI plugin runs on the node while RunPodSandbox continues: then the runtime itself hangs (its goroutines show where)."
	return []Finding{f}
}

// answered reports whether the runtime answered another call, of the node or of any pod, while a call was under way: then it is not the runtime that
// hung.
func (c *Case) answered(k *Span[*trace.CRICall]) bool {
	return slices.ContainsFunc(slices.Concat(ownSpans[*trace.CRICall](c), nodeSpans[*trace.CRICall](c)), func(o Span[*trace.CRICall]) bool {
		return o.ID() != k.ID() && !o.Open && o.Err() == "" && asks(o.Event.Method) && !o.Start.Before(k.Start) && !o.Stop.After(k.Stop)
	})
}
