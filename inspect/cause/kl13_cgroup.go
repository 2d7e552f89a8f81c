package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// slowCgroupOp is how long an operation on cgroups takes that is not slow: systemd needs some tens of milliseconds.
const slowCgroupOp = 50 * time.Millisecond

func slowCgroup() Rule {
	return Rule{
		ID: "KL13", Name: "cgroup operations slow",
		About: "Making or changing the pod's cgroups took long. It is reported for operations of 50 ms and more each, which together took 5 % of the " +
			"critical path or more. Removing them is no part of a start: see KL17. Of a kubelet that is watched, its metrics tell of operations of 100 ms and more without " +
			"a pod: likely, where a part of the start of that length is in no record.",
		Find: findSlowCgroup,
	}
}

func findSlowCgroup(c *Case) []Finding {
	ops := ownSpans[*trace.CgroupOp](c)
	var all []holdup
	for i := range ops {
		o := &ops[i]
		if o.Dur() < slowCgroupOp || o.Event.Op == trace.CgroupDestroy {
			continue
		}
		text := fmt.Sprintf("%s of cgroup %s: %s", o.Event.Op, o.Event.Path, took(o.Dur(), o.Open))
		if err := o.Err(); err != "" {
			text += "; " + quoted(err)
		}
		all = append(all, holdup{at: c.on(o.ID(), o.Start, o.Stop), what: string(o.Event.Op) + " of " + o.Event.Path, evidence: evidence(o.Rec(), "%s", text), open: o.Open})
	}
	cost := covered(stretches(all))
	open := openOf(all) && !c.up()
	var f Finding
	switch metrics := c.cgroupGap(); {
	case len(all) > 0 && cost > 0 && c.speaks(cost, open):
		f = Finding{Confidence: Certain, Cost: cost, Current: open}
		f.Sentence = fmt.Sprintf("operations on its cgroups took %s, most of it the %s", took(cost, open), longestOf(all).what)
		for i := range all {
			f.Evidence = append(f.Evidence, all[i].evidence)
		}
		f.Evidence = few(f.Evidence)
	case metrics != nil:
		f = *metrics
	default:
		return nil
	}
	f.Remedy = "With the systemd driver, look at systemd (systemctl status; busctl call times); on both, at how many cgroups there are " +
		"(cat /sys/fs/cgroup/cgroup.stat: nr_dying_descendants) and at the node's load (KL23, KL24)."
	f.RuledOutBy = "mkdir and rmdir of a cgroup below kubepods take under a millisecond manually, and systemd-run --scope true returns at once, under the same load."
	return []Finding{f}
}

// cgroupGap is the kubelet's longest operation on cgroups of which its metrics tell, if it fits into a part of the start that nothing explains: the
// metrics name no pod, and have no time but that of two answers. It is nil where none does.
func (c *Case) cgroupGap() *Finding {
	gaps := c.pathStretches(func(s waterfall.Segment) bool { return s.Kind == waterfall.SegmentUnexplained })
	var best *Span[*trace.CgroupOp]
	ops := nodeSpans[*trace.CgroupOp](c)
	for i := range ops {
		o := &ops[i]
		if o.Rec().Observer != trace.ObserverKubeletAPI || !o.Rec().Pod.IsZero() || o.Event.Op == trace.CgroupDestroy || best != nil && o.Dur() <= best.Dur() || !c.material(o.Dur()) {
			continue
		}
		for _, gap := range clip(gaps, o.Start.Add(-o.Rec().Precision.Duration()), o.Stop) {
			if gap.to.Sub(gap.from) >= o.Dur() {
				best = o
			}
		}
	}
	if best == nil {
		return nil
	}
	return &Finding{
		Confidence: Likely, Cost: best.Dur(),
		Sentence: fmt.Sprintf("an operation of the kubelet on cgroups (%s) took %s, as long as a part of its start that nothing else explains", best.Event.Op, took(best.Dur(), false)),
		Evidence: []Evidence{evidence(best.Rec(), "the kubelet's metrics: an operation on cgroups (%s) took %s or more", best.Event.Op, took(best.Dur(), false))},
	}
}
