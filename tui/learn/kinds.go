package learn

import "github.com/kubeloupe/kubeloupe/inspect/waterfall"

// kinds are about rows of which nothing more is known than their kind.
var kinds = map[waterfall.RowKind]Lesson{
	waterfall.RowSeen: {
		"seen", "The agent learned of the pod: from a manifest file, a URL, or the watch on the API server. " +
			"All times of a start count from here; what the scheduler did before is not among them.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowAction: {
		"step", "A step of the plan that the agent made by comparing what the pod's spec wants with what runs. " +
			"A step begins when the steps that it needs are done, so independent ones run side by side.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowCall: {
		"call", "A gRPC call, to the container runtime through the CRI or to a volume driver through CSI. " +
			"The agent has no part in how long it takes; the rows below it, where there are any, are the runtime's reports of its own work.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	waterfall.RowOp: {
		"operation", "Something that the agent does for a step of the plan besides calling the runtime. " +
			"Enter shows the records of it.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowWait: {
		"wait", "Nothing works for the pod in this time: it waits for what is named. " +
			"A wait on the critical path makes the start longer by all of its length.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	waterfall.RowSpan: {
		"span of the runtime", "The runtime reported this part of its work as an OpenTelemetry span below the CRI call that caused it. " +
			"Spans arrive some seconds after they end, so the newest part of a start may still lack its own.",
		"github.com/containerd/containerd/blob/main/docs/tracing.md",
	},
}

var unexplained = Lesson{
	"unexplained", "No event covers this time: nothing was seen to work for the pod, nor to be waited for. " +
		"A long one means that events were lost or that the processors were busy elsewhere; the Node view has the pressure on them.",
	"KEP-4205; docs.kernel.org/accounting/psi.html",
}
