package cause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// slowCgroupOp is how long an operation on cgroups takes that is not slow: systemd needs some tens of milliseconds.
const slowCgroupOp = 50 * time.Millisecond

func slowCgroup() Rule {
	return Rule{
		ID: "KL13", Name: "cgroup operations slow",
		About: "Making or changing the pod's cgroups took long. It is reported for operations of 50 ms and more each, which together took 5 % of the " +
			"critical path or more. Removing them is no part of a start: see KL17.",
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
		all = append(all, holdup{c.on(o.ID(), o.Start, o.Stop), string(o.Event.Op) + " of " + o.Event.Path, evidence(o.Rec(), "%s", text), o.Open, ""})
	}
	cost := covered(stretches(all))
	open := openOf(all) && !c.up()
	if len(all) == 0 || cost == 0 || !c.speaks(cost, open) {
		return nil
	}
	f := Finding{Confidence: Certain, Cost: cost, Current: open}
	f.Sentence = fmt.Sprintf("operations on its cgroups took %s, most of it the %s", took(cost, open), longestOf(all).what)
	for i := range all {
		f.Evidence = append(f.Evidence, all[i].evidence)
	}
	f.Evidence = few(f.Evidence)
	f.Remedy = "With the systemd driver, look at systemd (systemctl status; busctl call times); on both, at how many cgroups there are " +
		"(cat /sys/fs/cgroup/cgroup.stat: nr_dying_descendants) and at the node's load (KL23, KL24)."
	f.RuledOutBy = "mkdir and rmdir of a cgroup below kubepods take under a millisecond manually, and systemd-run --scope true returns at once, under the same load."
	return []Finding{f}
}
