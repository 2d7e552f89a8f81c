package learn

import "github.com/kubeloupe/kubeloupe/trace"

// verbs are about the steps of plans.
var verbs = map[trace.Verb]Lesson{
	trace.VerbCgroup: {
		"cgroup", "The kernel's group for all processes of the pod is created below its QoS class, with the pod's CPU and memory limits. " +
			"It takes about a millisecond. If it is slow, the kernel is busy with other cgroups, or systemd responds late.",
		"KEP-2254; kubernetes.io/docs/concepts/architecture/cgroups/",
	},
	trace.VerbDirs: {
		"directories", "The pod's directories for volumes, plugins and logs are created on the node's disk. " +
			"It takes about a millisecond, unless the disk is slow or full.",
		"kubernetes.io/docs/reference/node/kubelet-files/",
	},
	trace.VerbVolumes: {
		"volumes", "All volumes of the pod are set up at the same time: objects are fetched and written, devices are attached and mounted. " +
			"No container is created before the last volume is ready, so the slowest volume determines the time.",
		"kubernetes.io/docs/concepts/storage/volumes/",
	},
	trace.VerbClaims: {
		"claims", "The DRA drivers of the node prepare the devices of the pod's ResourceClaims (NodePrepareResources), all drivers at the same time. " +
			"The sandbox is created afterward, because a driver may provide its network. Another pod may have a claim prepared already.",
		"KEP-4381; kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
	},
	trace.VerbReleaseClaims: {
		"release of claims", "The DRA drivers of the node unprepare the devices of the pod's ResourceClaims (NodeUnprepareResources), unless another pod uses them. " +
			"It happens when nothing of the pod runs any more, and before its final status: only then can others get the devices.",
		"KEP-4381; kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
	},
	trace.VerbImage: {
		"image", "The container's image is pulled, unless it is on the node and the pull policy permits its use. " +
			"A pull resolves the tag, downloads layers and unpacks them to disk. The row shows size and rate.",
		"kubernetes.io/docs/concepts/containers/images/",
	},
	trace.VerbSandbox: {
		"sandbox", "RunPodSandbox creates what the pod's containers share: namespaces, the pause process and, with CNI plugins, the network. " +
			"Until it is done, the pod has no IP and no container can be created.",
		"KEP-3085; kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.VerbCreate: {
		"create", "CreateContainer makes the runtime prepare a snapshot of the image and the container's configuration. " +
			"No process runs yet. Missing devices, invalid mounts and unknown users cause errors here.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.VerbStart: {
		"start", "StartContainer makes the runtime run the container's process, with its shim and runc. " +
			"It returns when the process runs. The process need not be ready then.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.VerbPostStart: {
		"postStart", "The container's postStart handler starts right after its process and runs at the same time. " +
			"The container does not count as running until the handler has finished. If the handler fails, the container is killed.",
		"kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
	},
	trace.VerbPreStop: {
		"preStop", "The container's preStop handler runs before its process receives the stop signal. " +
			"Its time is part of the grace period, so the process has less time to exit.",
		"kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
	},
	trace.VerbResize: {
		"resize", "A running container gets new CPU or memory limits, without a restart if its resize policy permits this. " +
			"The runtime changes the container's cgroup (UpdateContainerResources).",
		"KEP-1287, in-place update of pod resources",
	},
	trace.VerbResizePod: {
		"resize of the pod", "The limits of the pod's cgroup change together with those of its containers. " +
			"If limits grow, the pod is changed first; if they shrink, it is changed last. So containers never exceed their pod.",
		"KEP-1287, in-place update of pod resources",
	},
	trace.VerbKill: {
		"kill", "The container is stopped: its stop signal first, and SIGKILL at the end of the grace period. " +
			"If the process does not handle the signal, this takes the whole grace period, 30 s by default.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	trace.VerbStopSandbox: {
		"stop of the sandbox", "StopPodSandbox removes the pod's network (CNI DEL) and stops the pause process. " +
			"If a CNI plugin fails here, the pod cannot terminate, and the agent retries.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
	},
	trace.VerbRemove: {
		"remove", "A dead container is removed from the runtime, with its writable layer. " +
			"Its log is removed too, so the last dead containers are kept for a while.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection/#containers-images",
	},
	trace.VerbRemoveSandbox: {
		"removal of the sandbox", "The rest of the pod's sandbox is removed from the runtime. " +
			"After this, crictl no longer shows the pod.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection/#containers-images",
	},
	trace.VerbUnmount: {
		"unmount", "The pod's volumes are unmounted when none of its containers runs. " +
			"While a mount is busy, the pod remains terminating, and another node may have to wait for the volume.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes/",
	},
	trace.VerbRemoveCgroup: {
		"removal of the cgroup", "The pod's cgroup is removed, and processes left in it are killed. " +
			"The kernel refuses while a process exists, so this waits for processes that cannot be killed immediately.",
		"kubernetes.io/docs/concepts/architecture/cgroups/",
	},
	trace.VerbRemoveDirs: {
		"removal of the directories", "The pod's data on the node's disk is removed: its directory, empty volumes, logs. " +
			"A directory that still contains a mount is kept, so that no data is deleted.",
		"kubernetes.io/docs/reference/node/kubelet-files/",
	},
}
