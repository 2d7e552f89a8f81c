package learn

import (
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// calls are about methods of the container runtime and of CSI drivers.
var calls = map[string]Lesson{
	"RunPodSandbox":            verbs[trace.VerbSandbox],
	"CreateContainer":          verbs[trace.VerbCreate],
	"StartContainer":           verbs[trace.VerbStart],
	"StopContainer":            verbs[trace.VerbKill],
	"StopPodSandbox":           verbs[trace.VerbStopSandbox],
	"RemoveContainer":          verbs[trace.VerbRemove],
	"RemovePodSandbox":         verbs[trace.VerbRemoveSandbox],
	"PullImage":                verbs[trace.VerbImage],
	"UpdateContainerResources": verbs[trace.VerbResize],
	"ImageStatus": {
		"ImageStatus", "The agent asks the runtime whether it has an image, and for its id. " +
			"It decides whether a pull is needed at all.",
		"kubernetes.io/docs/concepts/containers/images/#image-pull-policy",
	},
	"ListPodSandbox": {
		"ListPodSandbox", "The runtime lists all sandboxes it knows: a relist begins with it. " +
			"A runtime that is slow here delays what the agent learns of every pod.",
		"KEP-3386, evented PLEG",
	},
	"ListContainers": {
		"ListContainers", "The runtime lists all containers it knows, as a part of a relist or of garbage collection. " +
			"A runtime that is slow here delays what the agent learns of every pod.",
		"KEP-3386, evented PLEG",
	},
	"NodeStageVolume": {
		"NodeStageVolume", "The CSI driver makes the volume usable on the node once for all pods: it formats and mounts the device. " +
			"A first use formats, and a check of a large file system takes its time.",
		"github.com/container-storage-interface/spec",
	},
	"NodePublishVolume": {
		"NodePublishVolume", "The CSI driver mounts the volume into this pod's directory. " +
			"Mostly that is a bind mount of what was staged before, and quick.",
		"github.com/container-storage-interface/spec",
	},
	"NodeUnpublishVolume": {
		"NodeUnpublishVolume", "The CSI driver unmounts the volume from the pod's directory. " +
			"It fails while a process still uses it.",
		"github.com/container-storage-interface/spec",
	},
	"NodeUnstageVolume": {
		"NodeUnstageVolume", "No pod on this node uses the volume any more, and the CSI driver unmounts its device. " +
			"Only then can it be detached and go to another node.",
		"github.com/container-storage-interface/spec",
	},
}

// ops are about operations by the words that the waterfall has for them.
var ops = map[string]Lesson{
	"setup": {
		"setup of a volume", "One volume is made ready: its files written, or its device mounted, and given to the pod's fsGroup. " +
			"Giving many files to a group takes long; fsGroupChangePolicy: OnRootMismatch skips it where nothing changed.",
		"KEP-695; kubernetes.io/docs/tasks/configure-pod-container/security-context/",
	},
	"teardown": {
		"teardown of a volume", "One volume is unmounted and what was made for it removed. " +
			"Persistent data stays where it is.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes/",
	},
	"startup probe": {
		"startup probe", "Until it succeeds no other probe runs, and when it fails too often the container is killed. " +
			"It gives slow programs time without making the later probes blind.",
		"KEP-950; kubernetes.io/docs/concepts/workloads/pods/probes/",
	},
	"readiness probe": {
		"readiness probe", "The pod counts as ready, and gets traffic, once this succeeds. " +
			"From start to ready goes at least the initial delay, and then up to one period more than the program needs.",
		"kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
	},
	"status": {
		"status", "The pod is ready on the node, and the agent now updates its status in the API. " +
			"Services send traffic, and rollouts continue, only after this.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
	"patch": {
		"patch of the status", "One try to write the pod's status into the API. " +
			"A try that fails is made again with what is true by then.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
}

// spans are about the runtime's own spans, by what they are about.
var spans = map[waterfall.Topic]Lesson{
	waterfall.TopicCNI: {
		"CNI", "The runtime runs CNI plugins that give the pod its network interface, address and routes, or take them away. " +
			"Each plugin is a program, run one after the other; the slow one is often the one that asks for an address.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
	},
	waterfall.TopicNamespace: {
		"network namespace", "The kernel makes a network of the pod's own, empty at first, which the CNI plugins fill. " +
			"Creating many at the same time is slow, because the kernel creates them one after the other.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
	},
	waterfall.TopicUnpack: {
		"unpack", "A layer is uncompressed and written to the snapshotter's disk, in the order of the layers. " +
			"It is bound by one processor and the disk, not by the network.",
		"github.com/containerd/containerd/blob/main/docs/content-flow.md",
	},
	waterfall.TopicFetch: {
		"fetch", "A part of the image comes over the network into containerd's content store. " +
			"Layers that are there already are not fetched again, whatever image they came with.",
		"github.com/containerd/containerd/blob/main/docs/content-flow.md",
	},
	waterfall.TopicRegistry: registry,
	waterfall.TopicTask: {
		"task", "The shim, one process per pod, has runc make or start the container's first process. " +
			"Making means namespaces, cgroup and mounts; starting lets the program go.",
		"github.com/containerd/containerd/blob/main/docs/runtime-v2.md",
	},
	waterfall.TopicShim: {
		"shim", "The shim is the process that stays with the pod's containers, so that containerd can be restarted without them. " +
			"Its first start is part of every sandbox.",
		"github.com/containerd/containerd/blob/main/docs/runtime-v2.md",
	},
}

var registry = Lesson{
	"registry", "The runtime requests the digest of a tag, a token, or a part of the image from the registry. " +
		"The answer's time is the network's and the registry's; its errors are those of the pull.",
	"github.com/containerd/containerd/blob/main/docs/hosts.md",
}
