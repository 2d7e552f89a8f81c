package learn

import "github.com/kubeloupe/kubeloupe/inspect/waterfall"

// kinds are about rows of which nothing more is known than their kind.
var kinds = map[waterfall.RowKind]Lesson{
	waterfall.RowSeen: {
		"seen", "The agent received the pod: from a manifest file, a URL, or the watch on the API server. " +
			"All times of a start count from here. The time of the scheduler before it is not included.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowAction: {
		"step", "A step of the plan, which the agent computed by comparing the pod's spec with what runs. " +
			"A step begins when the steps that it needs are done, so independent steps run at the same time.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowCall: {
		"call", "A gRPC call, to the container runtime through the CRI or to a volume driver through CSI. " +
			"Its duration does not depend on the agent. The rows below it, if there are any, are the runtime's own spans.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	waterfall.RowOp: {
		"operation", "An operation of the agent for a step of the plan, other than a call to the runtime. " +
			"Enter shows its records.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowWait: {
		"wait", "The pod waits in this time. The row names what it waits for. " +
			"A wait on the critical path makes the start longer by its whole duration.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowSpan: {
		"span of the runtime", "The runtime reported this part of its work as an OpenTelemetry span below the CRI call that caused it. " +
			"Spans arrive a few seconds after they end, so the newest ones may still be missing.",
		"github.com/containerd/containerd/blob/main/docs/tracing.md",
	},
}

var unexplained = Lesson{
	"unexplained", "No event covers this time: neither an action nor a wait was observed. " +
		"If it is long, events were lost, or the CPUs were busy with other work. The Node view shows the CPU pressure.",
	"KEP-4205; docs.kernel.org/accounting/psi.html",
}
