package learn

import "github.com/kubeloupe/kubeloupe/trace"

// verbs are about the steps of plans.
var verbs = map[trace.Verb]Lesson{
	trace.VerbCgroup: {
		"cgroup", "The kernel's group for all processes of the pod is made below its QoS class, with the pod's CPU and memory limits. " +
			"It takes a millisecond or so; when it is slow, the kernel is busy with other cgroups, or systemd responds late.",
		"KEP-2254; kubernetes.io/docs/concepts/architecture/cgroups/",
	},
	trace.VerbDirs: {
		"directories", "The pod's own directories for volumes, plugins and logs are made on the node's disk. " +
			"It takes a millisecond or so, unless the disk is slow or full.",
		"kubernetes.io/docs/reference/node/kubelet-files/",
	},
	trace.VerbVolumes: {
		"volumes", "All volumes of the pod are set up side by side: objects fetched and written, devices attached and mounted. " +
			"No container is created before the last one is ready, so the slowest volume sets the pace.",
		"kubernetes.io/docs/concepts/storage/volumes/",
	},
	trace.VerbImage: {
		"image", "The container's image is brought to the node, unless it is there and the pull policy is content with that. " +
			"A pull resolves the tag, fetches layers over the network and unpacks them to disk; the row's note has size and rate.",
		"kubernetes.io/docs/concepts/containers/images/",
	},
	trace.VerbSandbox: {
		"sandbox", "RunPodSandbox makes what the pod's containers share: namespaces, the pause process and the network, by CNI plugins. " +
			"Until it is done the pod has no IP and no container can be created.",
		"KEP-3085; kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.VerbCreate: {
		"create", "CreateContainer has the runtime prepare a snapshot of the image and the container's configuration. " +
			"No process runs yet; missing devices, bad mounts and unknown users show up here.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.VerbStart: {
		"start", "StartContainer has the runtime run the container's process by way of its shim and runc. " +
			"It returns when the process is running, which says nothing yet of whether it is ready.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.VerbPostStart: {
		"postStart", "The container's postStart handler runs right after its process, and at the same time. " +
			"The container does not count as running until the handler is done, and is killed when it fails.",
		"kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
	},
	trace.VerbPreStop: {
		"preStop", "The container's preStop handler runs before its process gets the signal to end. " +
			"Its time is part of the grace period: what it takes, the process does not have.",
		"kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
	},
	trace.VerbResize: {
		"resize", "A running container gets other CPU or memory limits, without a restart where its resize policy allows it. " +
			"The runtime changes the container's cgroup by UpdateContainerResources.",
		"KEP-1287, in-place update of pod resources",
	},
	trace.VerbResizePod: {
		"resize of the pod", "The limits of the pod's own cgroup change along with those of its containers. " +
			"When limits grow the pod comes first, and when they shrink it comes last, so containers never exceed their pod.",
		"KEP-1287, in-place update of pod resources",
	},
	trace.VerbKill: {
		"kill", "The container is stopped: its stop signal first, and SIGKILL at the end of the grace period. " +
			"A process that does not handle the signal makes this take the whole grace period, 30 s by default.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	trace.VerbStopSandbox: {
		"stop of the sandbox", "StopPodSandbox takes down the pod's network by CNI DEL and ends the pause process. " +
			"When a CNI plugin fails here the pod cannot end, and it is tried again.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
	},
	trace.VerbRemove: {
		"remove", "A dead container is removed from the runtime, with its writable layer. " +
			"Its log goes with it, which is why the last dead ones are kept for a while.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection/#containers-images",
	},
	trace.VerbRemoveSandbox: {
		"removal of the sandbox", "What is left of the pod's sandbox in the runtime is removed. " +
			"The runtime forgets the pod with this; nothing of it can be inspected by crictl afterwards.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection/#containers-images",
	},
	trace.VerbUnmount: {
		"unmount", "The pod's volumes are unmounted, once none of its containers runs. " +
			"A mount that is busy keeps the pod terminating, and with it a volume that another node may wait for.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes/",
	},
	trace.VerbRemoveCgroup: {
		"removal of the cgroup", "The pod's cgroup is removed, and processes left in it are killed. " +
			"The kernel refuses as long as one of them lives, so this waits for processes that cannot be killed immediately.",
		"kubernetes.io/docs/concepts/architecture/cgroups/",
	},
	trace.VerbRemoveDirs: {
		"removal of the directories", "What the pod had on the node's disk goes: its directory, empty volumes, logs. " +
			"A directory with something still mounted in it is left alone, lest data be deleted.",
		"kubernetes.io/docs/reference/node/kubelet-files/",
	},
}
