package cause

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// lateAnswer is how long a call takes that only asks, and a relist, when the runtime is in trouble: they need milliseconds.
const lateAnswer = 2 * time.Second

// lateNews is how long the runtime takes to tell of what it did when it is in trouble: it needs milliseconds, and a node without
// a free processor some more.
const lateNews = 100 * time.Millisecond

func stalledRuntime() Rule {
	return Rule{
		ID: "KL15", Name: "PLEG or runtime stalled",
		About: "The container runtime did not answer in time, or did not report what had happened. It rests on calls that only read (List..., ...Status, " +
			"Version) and relists that took 2 s or more or failed, on calls that ran into their deadline or found nobody (not pulls and commands), on " +
			"the syncLoop waiting for the runtime, and on the pod waiting 100 ms or more for the event about what was done. It is reported when that took 10 ms and 5 % of " +
			"the critical path, or of the pod's end, or more, or where a kubelet's log shows that the pod's last call got no answer. A long RunPodSandbox alone is no stall, nor is " +
			"a call that did not return in time while the runtime answered others.",
		Find: findStalledRuntime,
	}
}

// asks reports whether a method only asks, which a runtime in health answers at once.
func asks(method string) bool {
	return strings.HasPrefix(method, "List") || strings.HasSuffix(method, "Status") || method == "Version" || method == "ImageFsInfo"
}

// stall is time in which the runtime gave no answer.
type stall struct {
	stretch
	evidence Evidence
	own      bool
	open     bool
	what     string
}

func findStalledRuntime(c *Case) (out []Finding) {
	all := slices.Concat(c.stalledCalls(ownSpans[*trace.CRICall](c), true), c.stalledCalls(nodeSpans[*trace.CRICall](c), false), c.stalledRelists(), c.lateTold())
	for _, part := range c.parts(c.pathStretches(c.atRuntime())) {
		out = append(out, c.stalledIn(&part, all)...)
	}
	if len(out) == 0 && c.fromLog() && c.stuck() {
		return c.stalledAtEnd()
	}
	return out
}

// stalledAtEnd is what a kubelet's log tells of a pod whose last call to the runtime got no answer, where it does not tell since when: below
// V4 a call's begin is not in the log.
func (c *Case) stalledAtEnd() []Finding {
	var last *Span[*trace.CRICall]
	calls := ownSpans[*trace.CRICall](c)
	for i := range calls {
		if k := &calls[i]; !k.Open && (last == nil || !k.Stop.Before(last.Stop)) {
			last = k
		}
	}
	waits := ownSpans[*trace.Wait](c)
	told := c.toTell()
	for i := range waits {
		w := &waits[i]
		if tells := told[w.ID()]; tells && w.Open && w.Event.Cause != "" {
			return []Finding{c.stallFinding(w.Dur(), waitEvidence(w), "it waited for "+say.On(w.Event)+": "+quoted(w.Event.Cause))}
		}
	}
	if last == nil || !unanswered(last.Event) {
		return nil
	}
	return []Finding{c.stallFinding(c.Now.Sub(last.Stop), callEvidence(last), last.Event.Method+" ended with "+last.Event.Code)}
}

func (c *Case) stallFinding(cost time.Duration, ev Evidence, what string) Finding {
	return Finding{
		Confidence: Certain, Cost: cost, Current: true, Evidence: []Evidence{ev},
		Sentence: "the container runtime does not answer in time: " + what, Remedy: runtimeRemedy, RuledOutBy: runtimeRuledOut,
	}
}

const (
	runtimeRemedy = "Look at the runtime: systemctl status containerd, journalctl -u containerd, crictl info; take its goroutines (kill -USR1 writes them to its log); " +
		"and at the node's disk and memory (KL24, KL25)."
	runtimeRuledOut = "crictl ps and crictl pods answer at once all that time."
)

// unanswered reports whether a call got no answer, for no reason that its error names.
func unanswered(k *trace.CRICall) bool {
	return (k.Code == "DeadlineExceeded" || k.Code == "Unavailable") && k.Method != "PullImage" && k.Method != "ExecSync" &&
		!k.Class.Of(trace.FailImage) && !k.Class.Of(trace.FailNetwork) && k.Class != trace.FailNameReserved
}

// stalledIn is what stalls did to the pod's start, or to its end.
func (c *Case) stalledIn(in *part, all []stall) []Finding {
	f := Finding{Confidence: Likely, End: in.end}
	var at []stretch
	var longest time.Duration
	what := ""
	for _, s := range all {
		part := without(clip(in.at, s.from, s.to), c.stopped())
		if len(part) == 0 {
			continue
		}
		at = append(at, part...)
		f.Evidence = append(f.Evidence, s.evidence)
		f.Current = f.Current || s.open && c.stuck()
		if s.own {
			f.Confidence = Certain
		}
		if d := covered(part); d > longest {
			longest, what = d, s.what
		}
	}
	f.Cost = covered(at)
	if len(at) == 0 || !in.worth(f.Cost) {
		return nil
	}
	inTime(f.Evidence)
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("the container runtime did not answer or report in time, which delayed the pod for %s: %s", took(f.Cost, f.Current), what)
	f.Remedy, f.RuledOutBy = runtimeRemedy, runtimeRuledOut
	return []Finding{f}
}

// stalledCalls are the calls that show that the runtime did not answer.
func (c *Case) stalledCalls(calls []Span[*trace.CRICall], own bool) (out []stall) {
	for i := range calls {
		k := &calls[i]
		m := k.Event.Method
		gaveUp := !k.Open && unanswered(k.Event)
		if ran := c.running(k.Start, k.Stop); !gaveUp && (!asks(m) || ran < lateAnswer) || ran >= lateAnswer && !asks(m) && c.answered(k) {
			continue
		}
		text := m + " took " + took(k.Dur(), k.Open)
		if gaveUp {
			text = m + " ended with " + k.Event.Code + " after " + took(k.Dur(), false)
		}
		out = append(out, stall{stretch{k.Start, k.Stop}, callEvidence(k), own || c.silent(k), k.Open, text})
	}
	return out
}

// silent reports whether the runtime answered nobody for as long as a call of others took, the pod's own call among them: then that call waited
// too, and did not work.
func (c *Case) silent(k *Span[*trace.CRICall]) bool {
	asked := false
	own := ownSpans[*trace.CRICall](c)
	for i := range own {
		asked = asked || own[i].Event.Method != "PullImage" && covered(clip([]stretch{{own[i].Start, own[i].Stop}}, k.Start, k.Stop)) >= lateAnswer
	}
	return asked && !slices.ContainsFunc(slices.Concat(own, nodeSpans[*trace.CRICall](c)), func(o Span[*trace.CRICall]) bool {
		return o.ID() != k.ID() && !o.Open && o.Err() == "" && o.Stop.After(k.Start.Add(lateNews)) && o.Stop.Before(k.Stop.Add(-lateNews))
	})
}

// stalledRelists are relists that failed or took long, and the syncLoop's waits for the runtime.
func (c *Case) stalledRelists() (out []stall) {
	relists := nodeSpans[*trace.PLEGRelist](c)
	for i := range relists {
		r := &relists[i]
		if r.Err() == "" && c.running(r.Start, r.Stop) < lateAnswer {
			continue
		}
		text := fmt.Sprintf("a relist (%s) took %s", r.Event.Cause, took(r.Dur(), r.Open))
		if err := r.Err(); err != "" {
			text += " and failed: " + quoted(err)
		}
		out = append(out, stall{stretch{r.Start, r.Stop}, evidence(r.Rec(), "%s", text), false, r.Open, text})
	}
	waits := nodeSpans[*trace.Wait](c)
	for i := range waits {
		if w := &waits[i]; w.Event.For == trace.WaitRuntime && w.Event.Target.Kind == trace.TargetRuntime {
			out = append(out, stall{stretch{w.Start, w.Stop}, waitEvidence(w), false, w.Open, "the runtime was not ready: " + quoted(w.Event.Cause)})
		}
	}
	own := ownSpans[*trace.Wait](c)
	for i := range own {
		if w := &own[i]; w.Event.For == trace.WaitRuntime && w.Event.Target.Kind == trace.TargetRuntime {
			out = append(out, stall{stretch{w.Start, w.Stop}, waitEvidence(w), true, w.Open, "the runtime was not ready: " + quoted(w.Event.Cause)})
		}
	}
	return out
}

// lateTold are the pod's waits to be told of what the runtime had done.
func (c *Case) lateTold() (out []stall) {
	tells := c.toTell()
	waits := ownSpans[*trace.Wait](c)
	for i := range waits {
		if w := &waits[i]; tells[w.ID()] && c.running(w.Start, w.Stop) >= lateNews {
			out = append(out, stall{stretch{w.Start, w.Stop}, waitEvidence(w), true, w.Open, "it waited for " + say.On(w.Event)})
		}
	}
	return out
}

// atRuntime selects the segments in which the pod needed the runtime: actions with calls to it, waits to be told, and what no record covers.
func (c *Case) atRuntime() func(waterfall.Segment) bool {
	ups, calling := c.parents(), maps.Clone(c.toTell())
	for _, w := range ownSpans[*trace.Wait](c) {
		if w.Event.For == trace.WaitRuntime && w.Event.Target.Kind == trace.TargetRuntime {
			calling[w.ID()] = true
		}
	}
	for _, k := range ownSpans[*trace.CRICall](c) {
		if k.Event.Method == "PullImage" {
			continue
		}
		for id, n := k.ID(), 0; id != 0 && n < maxUp; id, n = ups[id], n+1 {
			calling[id] = true
		}
	}
	return func(s waterfall.Segment) bool {
		return s.Kind == waterfall.SegmentUnexplained || calling[s.Span()]
	}
}
