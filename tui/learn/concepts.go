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
	"loop-config": {
		"syncLoop: config", "A source of pods reported a change: pods to add, update, remove, reconcile or delete. " +
			"The iteration passes each pod to its worker; a new pod is first admitted or rejected.",
		"docs/architecture.md of kubeloupe",
	},
	"loop-pleg": {
		"syncLoop: pleg", "A container or sandbox changed in the runtime, for example a container exited. " +
			"The iteration wakes the pod's worker, which compares what is with what should be.",
		"KEP-3386, evented PLEG",
	},
	"loop-sync": {
		"syncLoop: sync", "A pod's worker asked to be woken at this time, for example because a back-off ends or a token expires. " +
			"Nothing else happened to the pod.",
		"docs/architecture.md of kubeloupe",
	},
	"loop-probe": {
		"syncLoop: probe", "A probe's result for a container changed. The pod's readiness follows, or the container is restarted, " +
			"or, after a startup probe, the readiness and liveness probes begin.",
		"kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
	},
	"loop-housekeeping": {
		"syncLoop: housekeeping", "What belongs to no pod any more is cleaned up: workers, containers, directories, cgroups, mirror pods. " +
			"It waits until all sources have delivered their pods. It runs in the loop, so if it blocks, all pods wait (KL16).",
		"docs/architecture.md of kubeloupe",
	},
	"gc": {
		"garbage collection", "Exited containers and their sandboxes and logs are removed each minute, by their age and number for each pod. " +
			"Images are removed if the disk is 85 % full, the least recently used first, never one that is in use. " +
			"Each candidate has a verdict with its reason.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection/",
	},
	"node": {
		"node", "What the agent reports to the control plane about the machine: capacity, what of it pods can have (allocatable), conditions, addresses, images. " +
			"The status is written when it changes and every 5 minutes; the lease says each 10 s that the node is alive.",
		"kubernetes.io/docs/concepts/architecture/nodes/",
	},
	"status": {
		"pod status", "The agent writes the status of each pod to the API server: phase, conditions, states of containers. " +
			"It writes only what has changed; small changes may wait half a second for others. Until it is written, nobody else knows that the pod is ready.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	"eviction": {
		"eviction thresholds", "If the node has less memory, disk or process ids left than a threshold, it reports pressure and admits fewer pods. " +
			"A kubelet then ends pods, those that use more than they requested first (KL22). The distance to each threshold is what is left until then.",
		"kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
	},
	"resources": {
		"exclusive CPUs and memory", "With cpuManagerPolicy static, a container of a Guaranteed pod that requests whole CPUs gets them for itself; all others share the rest. " +
			"With memoryManagerPolicy Static, its memory and huge pages come from as few NUMA nodes as possible.",
		"kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/",
	},
	"topology": {
		"topology manager", "Each manager proposes hints: sets of NUMA nodes that can give a resource. The topology manager chooses a set that all of them accept. " +
			"With the policies restricted and single-numa-node it rejects a pod for which there is none (TopologyAffinityError, KL41).",
		"kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
	},
	"devices": {
		"device plugins", "A device plugin registers a resource and lists its devices. The agent allocates healthy ones to containers, and calls the plugin. " +
			"If its connection ends, no device of it is allocated until one registers; after 5 min the node has none of the resource (KL42).",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/",
	},
	"shutdown": {
		"graceful node shutdown", "While the agent holds a lock of systemd-logind, the machine waits with a shutdown until the pods have terminated: those of low priority " +
			"first, critical ones last, each group with its own time (shutdownGracePeriod). The node is not Ready meanwhile and takes no pods (KL43).",
		"kubernetes.io/docs/concepts/cluster-administration/node-shutdown/",
	},
	"admission": {
		"admission", "Before a pod starts, the agent checks that it fits: node name and selector, taints, resources, host ports, operating system, sysctls, pressure. " +
			"A pod that does not fit fails, and is not tried again (KL35).",
		"kubernetes.io/docs/concepts/scheduling-eviction/",
	},
	"decision": {
		"decision", "Each verdict is an event of its own: what was looked at, what was decided, why, and the values that it rests on. " +
			"Enter shows the whole record.",
		"docs/events.md of kubeloupe",
	},
	"source-file": {
		"source: file", "Manifests in a directory of the node. The kernel reports each change of a file; the directory is also read every 20 s. " +
			"A manifest with an error does not end its pod: the last good version stays in use.",
		"kubernetes.io/docs/tasks/configure-pod-container/static-pod/",
	},
	"source-http": {
		"source: http", "A URL that returns manifests, asked every 20 s. If it does not answer, or answers with an error, its pods stay as they are.",
		"kubernetes.io/docs/tasks/configure-pod-container/static-pod/",
	},
	"source-api": {
		"source: api", "The API server: a watch delivers all pods that are bound to this node. " +
			"While it is interrupted, running pods continue, and new ones and deletions arrive late.",
		"kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes",
	},
	"event": {
		"event", "Each thing that happens on the node is one typed event: an action, a call, a wait, a decision. " +
			"Each names the event that caused it, so Enter shows the tree from the iteration of the syncLoop down to the runtime's call.",
		"docs/events.md of kubeloupe",
	},
}
