package learn

// concepts are about what views and causes name that is no row of a waterfall.
var concepts = map[string]Lesson{
	"pleg": {
		"PLEG", "The pod lifecycle event generator reports when a container has started or exited: from the runtime's events, " +
			"or from a relist every second where the runtime has none. " +
			"If it is late, the agent reacts late. KL15 names a runtime that does not answer.",
		"KEP-3386, evented PLEG",
	},
	"syncloop": {
		"syncLoop", "One goroutine that receives everything that happens: changes from the sources, events from the PLEG, results of probes. " +
			"Each iteration only passes work on to the pods' workers, in well under a millisecond. An iteration that blocks delays all pods (KL16).",
		"docs/architecture.md of kubeloupe",
	},
	"worker": {
		"pod worker", "Each pod has a worker, which does one thing at a time for it: it computes a plan and runs the steps, or terminates the pod. " +
			"New work that arrives meanwhile is merged.",
		"docs/architecture.md of kubeloupe",
	},
	"critical-path": {
		"critical path", "The chain of steps and waits that determined when the pod was up: a step that is not on it could take longer without any effect. " +
			"To make a start faster, make what is on the path faster.",
		"docs/trace.md of kubeloupe",
	},
	"floor": {
		"floor", "The time that the container runtime itself needed for this start: its calls, as if nothing else had taken time. " +
			"The agent cannot make a start faster than this.",
		"docs/trace.md of kubeloupe",
	},
	"cri": {
		"CRI", "The container runtime interface: the gRPC calls with which the agent asks containerd or CRI-O to create sandboxes, containers and images. " +
			"The CRI view has each call with its request, response and duration.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	"lease": {
		"lease", "The node renews its Lease in kube-node-lease every 10 s. After 40 s without a renewal the control plane treats the node as unknown, " +
			"and later evicts its pods. KN03 and KN02 name what prevents it.",
		"kubernetes.io/docs/concepts/architecture/leases/",
	},
	"psi": {
		"PSI", "Pressure stall information: how long tasks of the node waited for a processor, memory or a disk. " +
			"KL23 to KL25 are computed from it. A processor that is busy is no pressure while nobody waits for it.",
		"KEP-4205; docs.kernel.org/accounting/psi.html",
	},
	"static-pod": {
		"static pod", "A pod from a manifest file or a URL of the node, without the API server. " +
			"Its name ends with the node's name. In a cluster the API server has a mirror pod of it, which shows its status.",
		"kubernetes.io/docs/tasks/configure-pod-container/static-pod/",
	},
	"qos": {
		"QoS class", "Guaranteed, Burstable or BestEffort, by the requests and limits of all containers. " +
			"It determines the pod's cgroup, and who is killed first if the node has no memory left.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-qos/",
	},
}
