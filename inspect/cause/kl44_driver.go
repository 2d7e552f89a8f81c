package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func draDriver() Rule {
	return Rule{
		ID: "KL44", Name: "DRA driver",
		About: "The pod uses devices through ResourceClaims, and waited for a DRA driver: it is not registered on this node, it fails, or it is slow to prepare the claims; or, " +
			"when the pod terminates, to unprepare them. A wait is reported from 10 ms and 5 % of the critical path on. Of a kubelet that is not kubeloupe's, " +
			"the rule knows only the Event FailedPrepareDynamicResources.",
		Find: findDRADriver,
	}
}

func findDRADriver(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool { return e.For == trace.WaitClaims && e.Target.Kind == trace.TargetDRADriver })
	if len(w.spans) == 0 {
		return c.claimEvents()
	}
	if !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	wait := w.longest()
	if w.open != nil {
		wait = w.open
	}
	name := wait.Event.Target.Name
	last := c.lastOfDriver(name)
	f := Finding{
		Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: few(append(c.claimsOfDriver(name), w.evidence()...)),
		Sentence:   fmt.Sprintf("the pod waited %s for DRA driver %s, ", took(w.cost, w.open != nil), name),
		Remedy:     "See what the driver does (its log, its CPU): it should only configure what the scheduler chose. The agent gives up after 45 s and tries again.",
		RuledOutBy: "The driver's own log shows that it answered at once: then look for what slowed its process (CPU, disk) at that time.",
	}
	switch fault := faultOf(last); fault {
	case trace.FaultDriverMissing:
		f.Sentence += "which was not registered on this node"
		f.Remedy = fmt.Sprintf("Run the driver's pod on this node (its DaemonSet, its node selector, its tolerations), and see that it registers: a socket in "+
			"/var/lib/kubelet/plugins_registry whose plugin is named %s. The agent continues at once when it registers.", name)
		f.RuledOutBy = "The node's records (dra.plugin) show that the driver was registered at that time."
	case trace.FaultDriverTimeout:
		f.Sentence += "which did not answer in 45 s"
	case trace.FaultDriverFailed, trace.FaultDriverAnswer:
		f.Sentence += "which failed: " + quoted(last.Event.Err)
		f.Remedy = "Repair what its error names; the driver's log has more. The agent tries again, with a back-off of at most 30 s, and at once when the driver is connected again."
		f.RuledOutBy = "The same claim is prepared while nothing has changed on the driver's side."
	case trace.FaultNotFound, trace.FaultUnallocated, trace.FaultUnreserved, trace.FaultNotOwned, trace.FaultReplaced, trace.FaultUnpreparing, trace.FaultUnsupported,
		trace.FaultAPI, trace.FaultState:
		fallthrough // those are the claim's, not the driver's
	default:
		f.Sentence += "which took so long to prepare its ResourceClaims"
		if c.Stage() == Ending {
			f.Sentence = fmt.Sprintf("the pod waited %s for DRA driver %s, which took so long to unprepare its ResourceClaims", took(w.cost, w.open != nil), name)
		}
	}
	return []Finding{f}
}

// lastOfDriver is the last event about claims of a driver; nil if there is none.
func (c *Case) lastOfDriver(name string) (last *Point[*trace.ResourceClaim]) {
	for _, p := range ownPoints[*trace.ResourceClaim](c) {
		if p.Event.Driver == name {
			last = &p
		}
	}
	return last
}

func faultOf(p *Point[*trace.ResourceClaim]) trace.ClaimFault {
	if p == nil {
		return ""
	}
	return p.Event.Fault
}

// claimsOfDriver are the events about claims of a driver, the last one first.
func (c *Case) claimsOfDriver(name string) (out []Evidence) {
	all := ownPoints[*trace.ResourceClaim](c)
	for _, e := range slices.Backward(all) {
		if e.Event.Driver == name {
			out = append(out, evidence(e.Rec, "%s", quoted(say.ResourceClaim(e.Event))))
		}
	}
	return out
}

// failedPrepare is the reason of the Event about claims that could not be prepared. Upstream: pkg/kubelet/events.
const failedPrepare = "FailedPrepareDynamicResources"

// claimEvents is what Events tell of claims that could not be prepared, where nothing else is known of them.
func (c *Case) claimEvents() []Finding {
	var first time.Time
	var last *Point[*trace.NodeEvent]
	var told []Evidence
	if len(ownPoints[*trace.ResourceClaim](c)) > 0 {
		return nil
	}
	for _, p := range ownPoints[*trace.NodeEvent](c) {
		if p.Event.Reason != failedPrepare {
			continue
		}
		if last = &p; first.IsZero() {
			first = p.Rec.At()
		}
		told = append(told, evidence(p.Rec, "Event %s: %s", p.Event.Reason, quoted(p.Event.Message)))
	}
	if last == nil {
		return nil
	}
	to, open := last.Rec.At(), false
	if !c.up() && c.Now.Sub(to) <= longestRetry && !c.wentOn(to) {
		to, open = c.Now, true
	}
	cost := covered(clip(c.stretchesOf(c.path()), first, to))
	if !c.fails(cost, open) {
		return nil
	}
	return []Finding{{
		Confidence: Certain, Cost: cost, Current: open, Evidence: few(told),
		Sentence:   "the kubelet could not prepare the pod's ResourceClaims: " + quoted(last.Event.Message),
		Remedy:     "If it names a DRA driver, see whether that runs on this node and is registered, and its log; if it names a claim, see its status (kubectl describe resourceclaim). The kubelet tries again about every minute.",
		RuledOutBy: "The Event is of an earlier attempt: the pod has a sandbox since.",
	}}
}
