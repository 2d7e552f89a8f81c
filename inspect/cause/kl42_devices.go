package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func devices() Rule {
	return Rule{
		ID: "KL42", Name: "device plugin",
		About: "The pod requests devices (GPUs, network functions) and did not get them: too few are healthy, no plugin offers them, or the plugin failed to " +
			"allocate them, so the node rejected the pod with UnexpectedAdmissionError; or the pod waited for a device plugin to answer. A wait is reported " +
			"from 10 ms and 5 % of the critical path on.",
		Find: findDevices,
	}
}

func findDevices(c *Case) (out []Finding) {
	if f := c.deviceRefusal(); f != nil {
		out = append(out, *f)
	}
	w := c.waited(func(e *trace.Wait) bool { return e.For == trace.WaitDevices })
	if len(w.spans) == 0 || !c.speaks(w.cost, w.open != nil) {
		return out
	}
	resource := w.longest().Event.Target.Name
	return append(out, Finding{
		Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: few(append(w.evidence(), c.allocations()...)),
		Sentence: fmt.Sprintf("the pod waited %s for the device plugin of %s to answer", took(w.cost, w.open != nil), resource),
		Remedy: "See what the plugin does (its log, its CPU): Allocate should only look up what was prepared before. If it resets or programs the device, that is the device's time. " +
			"The agent gives up after 2 min (30 s for PreStartContainer).",
		RuledOutBy: "The plugin's own log shows that it answered at once: then look for what slowed its process (CPU, disk) at that time.",
	})
}

// deviceRefusal is the last time that a container of the pod did not get its devices; nil if it got them afterwards, or never asked.
func (c *Case) deviceRefusal() *Finding {
	d := c.refusedDevices()
	if d == nil {
		return nil
	}
	e := d.Event
	f := &Finding{
		Confidence: Certain, Current: true, Evidence: []Evidence{evidence(d.Rec, "%s", quoted(say.DeviceAllocation(e)))},
		Sentence: fmt.Sprintf("the pod did not get %d %s for container %s: %s", e.Count, e.Resource, e.Container, quoted(e.Err)),
		Remedy: fmt.Sprintf("See whether the device plugin of %s runs and which of its devices are healthy (kubectl describe node: Capacity, Allocatable, Allocated resources). Request fewer, "+
			"end the pods that have them, or repair the plugin.", e.Resource),
		RuledOutBy: "A pod with the same requests is admitted on the same node while nothing there has changed.",
	}
	for _, v := range ownPoints[*trace.Decision](c) {
		if v.Event.By == trace.ByAdmission && v.Event.Verdict == trace.VerdictReject {
			f.Final = true
			f.Evidence = append(f.Evidence, evidence(v.Rec, "%s: %s", v.Event.Verdict, quoted(v.Event.Reason)))
			f.Remedy += " A rejected pod stays Failed: delete it; its controller makes another one."
			break
		}
	}
	return f
}

// refusedDevices is the last event about devices of the pod, if it is a refusal.
func (c *Case) refusedDevices() *Point[*trace.DeviceAllocation] {
	all := ownPoints[*trace.DeviceAllocation](c)
	if len(all) == 0 || all[len(all)-1].Event.Outcome != trace.DevicesRefused {
		return nil
	}
	return &all[len(all)-1]
}

// allocations are the plugins' answers.
func (c *Case) allocations() (out []Evidence) {
	for _, d := range ownPoints[*trace.DeviceAllocation](c) {
		out = append(out, evidence(d.Rec, "%s", quoted(say.DeviceAllocation(d.Event))))
	}
	return out
}
