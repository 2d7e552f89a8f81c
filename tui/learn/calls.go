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
		"ImageStatus", "The agent checks whether the runtime has an image, and gets its id. " +
			"The result determines whether a pull is necessary.",
		"kubernetes.io/docs/concepts/containers/images/#image-pull-policy",
	},
	"ListPodSandbox": {
		"ListPodSandbox", "The runtime lists all sandboxes. A relist begins with this call. " +
			"If the runtime is slow here, the agent learns late about every pod.",
		"KEP-3386, evented PLEG",
	},
	"ListContainers": {
		"ListContainers", "The runtime lists all containers, as a part of a relist or of garbage collection. " +
			"If the runtime is slow here, the agent learns late about every pod.",
		"KEP-3386, evented PLEG",
	},
	"NodeStageVolume": {
		"NodeStageVolume", "The CSI driver prepares the volume on the node, once for all pods: it formats and mounts the device. " +
			"The first use formats the device, and a check of a large file system is slow.",
		"github.com/container-storage-interface/spec",
	},
	"NodePublishVolume": {
		"NodePublishVolume", "The CSI driver mounts the volume into this pod's directory. " +
			"Usually this is a bind mount of the staged volume, and fast.",
		"github.com/container-storage-interface/spec",
	},
	"NodeUnpublishVolume": {
		"NodeUnpublishVolume", "The CSI driver unmounts the volume from the pod's directory. " +
			"It fails while a process still uses it.",
		"github.com/container-storage-interface/spec",
	},
	"NodeUnstageVolume": {
		"NodeUnstageVolume", "No pod on this node uses the volume any more, and the CSI driver unmounts its device. " +
			"Only then can the volume be detached and attached to another node.",
		"github.com/container-storage-interface/spec",
	},
}

// ops are about operations by the words that the waterfall has for them.
var ops = map[string]Lesson{
	"setup": {
		"setup of a volume", "One volume is set up: its files are written, or its device is mounted, and its files get the pod's fsGroup. " +
			"The change of many files is slow. fsGroupChangePolicy: OnRootMismatch skips it if nothing changed.",
		"KEP-695; kubernetes.io/docs/tasks/configure-pod-container/security-context/",
	},
	"teardown": {
		"teardown of a volume", "One volume is unmounted, and everything that was created for it is removed. " +
			"Persistent data is not removed.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes/",
	},
	"startup probe": {
		"startup probe", "Until it succeeds, no other probe runs. If it fails too often, the container is killed. " +
			"It gives slow programs time to start, and the other probes can still detect failures quickly.",
		"KEP-950; kubernetes.io/docs/concepts/workloads/pods/probes/",
	},
	"readiness probe": {
		"readiness probe", "The pod counts as ready, and gets traffic, once this succeeds. " +
			"From start to ready takes at least the initial delay, and then up to one period longer than the program needs.",
		"kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
	},
	"status": {
		"status", "The pod is ready on the node, and the agent now updates its status in the API. " +
			"Services send traffic, and rollouts continue, only after this.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
	"patch": {
		"patch of the status", "One attempt to write the pod's status to the API. " +
			"After a failure, the agent retries with the status at that time.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
}

// spans are about the runtime's own spans, by what they are about.
var spans = map[waterfall.Topic]Lesson{
	waterfall.TopicCNI: {
		"CNI", "The runtime runs CNI plugins, which add or remove the pod's network interface, address and routes. " +
			"Each plugin is a program, and they run one after the other. Often, the slow one is the plugin that requests an address.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
	},
	waterfall.TopicNamespace: {
		"network namespace", "The kernel creates a separate, empty network for the pod, which the CNI plugins then configure. " +
			"Creating many at the same time is slow, because the kernel creates them one after the other.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
	},
	waterfall.TopicUnpack: {
		"unpack", "A layer is uncompressed and written to the snapshotter's disk, in the order of the layers. " +
			"One CPU and the disk limit its speed, not the network.",
		"github.com/containerd/containerd/blob/main/docs/content-flow.md",
	},
	waterfall.TopicFetch: {
		"fetch", "A part of the image is downloaded to containerd's content store. " +
			"Layers that exist already are not downloaded again, also if they belong to another image.",
		"github.com/containerd/containerd/blob/main/docs/content-flow.md",
	},
	waterfall.TopicRegistry: registry,
	waterfall.TopicTask: {
		"task", "The shim, one process per pod, uses runc to create or start the container's first process. " +
			"Create sets up namespaces, cgroup and mounts; start runs the program.",
		"github.com/containerd/containerd/blob/main/docs/runtime-v2.md",
	},
	waterfall.TopicShim: {
		"shim", "The shim is the parent process of the pod's containers, so that containerd can restart without them. " +
			"Its first start is part of every sandbox.",
		"github.com/containerd/containerd/blob/main/docs/runtime-v2.md",
	},
}

var registry = Lesson{
	"registry", "The runtime requests the digest of a tag, a token, or a part of the image from the registry. " +
		"The network and the registry determine the response time. An error here is an error of the pull.",
	"github.com/containerd/containerd/blob/main/docs/hosts.md",
}
