package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func resourceClaim() Rule {
	return Rule{
		ID: "KL45", Name: "ResourceClaim not usable",
		About: "The pod refers to a ResourceClaim that it cannot use: it does not exist (yet), no devices are allocated to it, it is not reserved for the pod, it was made for another " +
			"pod, an earlier claim of the same name is still prepared, it is not unprepared yet for an earlier pod, it needs a feature gate that is off, or the API server does not return it; or DRA drivers are being called about it for another pod. It rests on the agent's verdict and on " +
			"the wait for the next attempt.",
		Find: findResourceClaim,
	}
}

// claimFaults say what is wrong with a claim, and what repairs it.
var claimFaults = map[trace.ClaimFault]struct{ what, remedy string }{
	trace.FaultNotFound: {
		"does not exist",
		"Create it; or, if the pod has a resourceClaimTemplateName, see why the resource claim controller (kube-controller-manager) does not make it: kubectl describe pod, kubectl get resourceclaimtemplate.",
	},
	trace.FaultUnallocated: {
		"has no devices allocated",
		"The scheduler allocates claims when it binds a pod. A pod with nodeName set by others skips it: let the scheduler bind the pod, or use a nodeSelector.",
	},
	trace.FaultUnreserved: {
		"is not reserved for the pod",
		"The scheduler reserves claims when it binds a pod; see status.reservedFor of the claim. A pod with nodeName set by others skips it.",
	},
	trace.FaultNotOwned: {"was made for another pod", "Delete the claim if nothing uses it: the controller makes one for this pod."},
	trace.FaultReplaced: {
		"has the name of an earlier claim that is still prepared on this node",
		"The earlier pod was deleted by force. The agent unprepares its claim first; see whether the DRA driver does that (KL44).",
	},
	trace.FaultUnpreparing: {
		"is not unprepared yet for an earlier pod",
		"No pod can use the claim before all its DRA drivers have unprepared it; see whether they do that (KL44). The agent continues at once when they have.",
	},
	trace.FaultUnsupported: {"needs something that the node does not support", "See its error: mostly a feature gate of the kubelet that is off."},
	trace.FaultAPI:         {"could not be read from the API server", "See whether the API server answers, and whether the node may get the claim (KN02)."},
}

func findResourceClaim(c *Case) []Finding {
	w := c.waited(func(e *trace.Wait) bool {
		return (e.For == trace.WaitClaims || e.For == trace.WaitLock) && e.Target.Kind == trace.TargetResourceClaim
	})
	if len(w.spans) == 0 || !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	wait := w.longest()
	if w.open != nil {
		wait = w.open
	}
	on := wait.Event.Target
	what, remedy := "cannot be used", "See its status: kubectl describe resourceclaim."
	var told []Evidence
	busy := wait.Event.For == trace.WaitLock
	if busy {
		what = "was being prepared or unprepared for another pod"
		remedy = "See the state of the claim (kubeloupe inspect resources) and what its DRA driver does (its log, its CPU). The agent calls drivers about a claim for one pod at a time."
	}
	for _, p := range ownPoints[*trace.ResourceClaim](c) {
		if p.Event.Driver != "" || p.Event.Name != on.Name || p.Event.Fault == "" {
			continue
		}
		if known, ok := claimFaults[p.Event.Fault]; ok && !busy {
			what, remedy = known.what, known.remedy
		}
		told = append(told, evidence(p.Rec, "%s", quoted(say.ResourceClaim(p.Event))))
	}
	return []Finding{{
		Confidence: Certain, Cost: w.cost, Current: w.open != nil, Evidence: few(append(told, w.evidence()...)),
		Sentence: fmt.Sprintf("the pod waited %s because ResourceClaim %s/%s %s", took(w.cost, w.open != nil), on.Namespace, on.Name, what),
		Remedy:   remedy, RuledOutBy: "The claim's status shows an allocation and the pod in reservedFor since before the wait.",
	}}
}
