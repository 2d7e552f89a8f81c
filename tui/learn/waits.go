package learn

import "github.com/kubeloupe/kubeloupe/trace"

// waits are about the kinds of wait.
var waits = map[trace.WaitKind]Lesson{
	trace.WaitQueue: {
		"wait in the queue", "Only so many calls to the runtime, or writes to the API, run at the same time; this pod waits for its turn. " +
			"Without the limit, many starting pods would delay each other by more than this wait; " +
			"a call that takes far too long releases its slot.",
		"KEP-3673, parallel image pull limit, does the same for pulls",
	},
	trace.WaitBackoff: {
		"back-off", "The last attempts failed, and the next one waits, each time about twice as long, up to a maximum. " +
			"This protects the node and the registry from constant retries. The wait is not the cause of the failure.",
		"KEP-4603; kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	trace.WaitTokens: {
		"wait for a token", "The number of requests per second is limited, and the burst is used up. " +
			"The limit is the agent's (registryPullQPS, kubeAPIQPS), or the server's, which sent Retry-After.",
		"kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/",
	},
	trace.WaitLock: {
		"wait for a lock", "Another operation works on the same object, and both at the same time would conflict. " +
			"The record names the holder. If it is always the same one, look there.",
		"kubernetes.io/docs/concepts/storage/volumes/",
	},
	trace.WaitOtherPull: {
		"wait for another pull", "Another pod pulls the same image, and this pod waits for that pull; or only one pull runs at a time. " +
			"serializeImagePulls and maxParallelImagePulls limit how many run at the same time.",
		"KEP-3673; kubernetes.io/docs/concepts/containers/images/",
	},
	trace.WaitRuntime: {
		"wait for the runtime", "The runtime must finish an action, such as setting up its network, before the agent can continue. " +
			"The CRI view shows the runtime's status.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.WaitProbe: {
		"wait for a probe", "The container runs, and its next probe runs after the initial delay or period. " +
			"The pod's settings determine this wait: a shorter periodSeconds or a startup probe makes it shorter.",
		"kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
	},
	trace.WaitGate: {
		"wait for a person", "A user steps through this pod: each action waits for a command. " +
			"The time counts neither for the agent nor for the runtime.",
		"docs/step.md of kubeloupe",
	},
	trace.WaitInit: {
		"wait for an init container", "Init containers run one after the other, and the next one begins when the previous one has succeeded. " +
			"The pod determines their duration. Sidecars only need to have started.",
		"KEP-753; kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	trace.WaitGrace: {
		"grace period", "The container received its stop signal and has its grace period to terminate. " +
			"It terminates immediately if its process handles the stop signal.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	trace.WaitPod: {
		"wait for an earlier pod", "A pod with the same full name is still terminating, and its volumes, ports and cgroup are still in use. " +
			"This is normal after a change of a static pod's manifest.",
		"kubernetes.io/docs/tasks/configure-pod-container/static-pod/",
	},
	trace.WaitAttach: {
		"wait for the attachment", "The volume must be attached to this node. A controller in the cluster does this, not the agent. " +
			"While it is still attached to another node, this can take minutes.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes/",
	},
	trace.WaitLabel: {
		"wait for an SELinux label", "A volume is mounted with one SELinux label for all pods of the node, and another pod has this one with another label, or without one. " +
			"The pod waits until the volume is unmounted for that pod. With seLinuxChangePolicy: Recursive in both, the runtime relabels the files instead.",
		"KEP-1710; kubernetes.io/docs/tasks/configure-pod-container/security-context/",
	},
	trace.WaitObject: {
		"wait for an object", "The agent fetches a ConfigMap, Secret, token or claim from the API server. " +
			"If it does not exist, the pod waits until it is created.",
		"kubernetes.io/docs/concepts/configuration/configmap/",
	},
	trace.WaitApproval: {
		"wait for an approval", "A certificate was requested, and a person or a controller must approve it. " +
			"Until then, the agent cannot authenticate to the API server, or to its clients.",
		"kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/",
	},
	trace.WaitHook: {
		"wait for a hook", "A postStart or preStop handler runs inside the container, and the agent waits for its end. " +
			"A slow hook makes every start or stop slow.",
		"kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
	},
	trace.WaitCredentials: {
		"wait for credentials", "A credential provider on the node supplies the registry's credentials before the pull. " +
			"The credentials are cached for some time, so only some pulls wait for them.",
		"KEP-2133, kubelet credential providers",
	},
	trace.WaitDevices: {
		"wait for a device plugin", "A device plugin, a program on the node, allocates the devices that the pod requests, or prepares them for a container. " +
			"The agent waits for its answer before it starts anything of the pod; other pods do not wait.",
		"kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/",
	},
	trace.WaitClaims: {
		"wait for a claim", "The pod uses devices through ResourceClaims. The scheduler allocates a claim, and the DRA driver, a program on the node, prepares it before the sandbox is created. " +
			"The pod waits for the driver to answer or to register, or for the claim to be allocated.",
		"KEP-4381; kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
	},
	trace.WaitPoll: {
		"wait for the next poll", "Upstream's volume manager checks the pods' volumes every 100 ms, and a pod's worker checks every 300 ms. " +
			"A volume that is ready waits for the next check. kubeloupe's agent is notified instead.",
		"github.com/kubernetes/kubernetes, pkg/kubelet/volumemanager/volume_manager.go",
	},
}
