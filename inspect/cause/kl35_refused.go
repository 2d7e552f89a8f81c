package cause

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

func refused() Rule {
	return Rule{
		ID: "KL35", Name: "rejected by the node",
		About: "The kubelet rejected the pod when it arrived, with a reason such as OutOfcpu, NodePorts, NodeAffinity, UnexpectedAdmissionError or " +
			"SysctlForbidden; or it ended the pod because it was active for longer than activeDeadlineSeconds. Such a pod has failed and will not run " +
			"again. It rests on the verdict, or on the reason in the pod's status. Eviction and preemption of a pod that ran are KL22's, a pod that did not get " +
			"its devices is KL42's, and a shutdown of the node is KL43's.",
		Find: findRefused,
	}
}

func findRefused(c *Case) []Finding {
	if c.refusedDevices() != nil {
		return nil
	}
	for _, d := range ownPoints[*trace.Decision](c) {
		switch {
		case d.Event.By == trace.ByAdmission && d.Event.Verdict == trace.VerdictReject && d.Event.Code != rejectedByShutdown: // that is KL43's
			if a := c.refusedAllocation(); a != nil && a.Event.Code == d.Event.Code {
				return nil // KL41 says what was short
			}
			return []Finding{c.refusal(d.Rec, d.Event.Code, true, d.Event.Reason)}
		case d.Event.By == trace.ByDeadline && d.Event.Verdict == trace.VerdictEnd:
			return []Finding{c.refusal(d.Rec, "DeadlineExceeded", false, d.Event.Reason)}
		}
	}
	st := c.status()
	if st == nil || st.Event.Phase != trace.PodFailed {
		return nil
	}
	switch code := st.Event.Reason; {
	case code == "DeadlineExceeded":
		return []Finding{c.refusal(st.Rec, code, false, st.Event.Message)}
	case code != "" && (rejections[code] != "" || strings.HasPrefix(code, "OutOf")):
		return []Finding{c.refusal(st.Rec, code, true, st.Event.Message)}
	}
	return nil
}

// rejections are the reasons with which kubelets reject pods, and what to do. Upstream: pkg/kubelet/lifecycle/predicate.go and the admit
// handlers of its managers.
var rejections = map[string]string{
	"NodeAffinity":                         "The node's labels do not match the pod's nodeSelector or nodeAffinity: correct one of them (kubectl get node --show-labels).",
	"NodePorts":                            "Another pod of the node has the hostPort: use another port or node, or none (a Service needs no hostPort).",
	"NodeName":                             "The pod's nodeName is that of another node: correct it.",
	"NodeUnschedulable":                    "The node is cordoned: kubectl uncordon NODE, or let the scheduler choose another one.",
	"TaintToleration":                      "The node has a taint of effect NoExecute that the pod does not tolerate: remove the taint or add a toleration.",
	"PodOSNotSupported":                    "The pod's os.name is another operating system: correct it.",
	"PodOSSelectorNodeLabelDoesNotMatch":   "The pod's label kubernetes.io/os is another operating system: correct it.",
	"SysctlForbidden":                      "The pod sets a sysctl that the node does not allow: remove it, or add it to allowedUnsafeSysctls of the kubelet.",
	"UnexpectedAdmissionError":             "A manager of the kubelet (devices, CPUs, memory) failed to give the pod what it requests: see whether the device plugin runs and has healthy devices (kubectl describe node).",
	"TopologyAffinityError":                "The node cannot give the pod its CPUs, memory and devices from the NUMA nodes that topologyManagerPolicy requires: request less, or relax the policy.",
	"SMTAlignmentError":                    "The pod's CPUs must be a multiple of the threads of a core (full-pcpus-only): change its request.",
	"EmptyPodSharedPoolError":              "The containers that have CPUs or memory for themselves request all that the pod-level resources (spec.resources) request, and others share nothing: request more for the pod, or give each container requests that are its limits.",
	"AppArmor":                             "The node has no AppArmor, or not that profile: load the profile on the node (apparmor_parser), or correct its name.",
	"Evicted":                              "The node is under pressure and takes no such pod: free what it is short of (kubectl describe node), or give the pod requests.",
	"SupplementalGroupsPolicyNotSupported": "The node's runtime does not support supplementalGroupsPolicy Strict: use Merge, or another node.",
	"InvalidNodeInfo":                      "The kubelet had no Node object yet: a new pod is admitted.",
	"VolumeAttachmentLimitExceeded":        "The CSI driver cannot attach more volumes to the node: let the scheduler choose another one, or end pods with volumes here (kubectl get csinode NODE -o yaml shows how many the driver can attach).",
	"ProcMountTypeNotSupported":            "The node does not support procMount Unmasked.",
}

func (c *Case) refusal(rec *trace.Record, code string, rejected bool, why string) Finding {
	f := Finding{Confidence: Certain, Current: true, Final: true}
	why = strings.TrimPrefix(why, code+": ") // the agent's verdicts begin with it, as messages of the API do
	f.Evidence = []Evidence{evidence(rec, "%s: %s", code, quoted(why))}
	f.Remedy = rejections[code]
	switch {
	case !rejected:
		f.Sentence = "the pod was active for longer than its activeDeadlineSeconds, and was ended (DeadlineExceeded)"
		f.Remedy = "Raise activeDeadlineSeconds of the pod or its Job, or find out why it took so long: its waits and phases are above."
	case strings.HasPrefix(code, "OutOf"):
		resource := strings.TrimPrefix(code, "OutOf")
		f.Sentence = fmt.Sprintf("the kubelet rejected the pod (%s): the node has too little %s left for its requests: %s", code, resource, quoted(why))
		f.Remedy = fmt.Sprintf("Request less %s, end other pods of the node, or let the scheduler choose a node with room: a pod with nodeName is not scheduled. kubectl describe node shows what is allocated.", resource)
	default:
		f.Sentence = "the kubelet rejected the pod: " + quoted(why)
		if code != "" {
			f.Sentence = fmt.Sprintf("the kubelet rejected the pod (%s): %s", code, quoted(why))
		}
	}
	if f.Remedy == "" {
		f.Remedy = "Change what the verdict names, in the pod or on the node."
	}
	if rejected {
		f.Remedy += " A rejected pod stays Failed: delete it; its controller makes another one."
	}
	f.RuledOutBy = "A pod with the same spec is admitted on the same node while nothing there has changed."
	return f
}
