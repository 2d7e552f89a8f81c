package learn

import "github.com/kubeloupe/kubeloupe/trace"

// waits are about the kinds of wait.
var waits = map[trace.WaitKind]Lesson{
	trace.WaitQueue: {
		"wait in the queue", "Only so many calls to the runtime, or writes to the API, run at the same time; this pod waits for its turn. " +
			"Without the limit a crowd of starting pods would slow one another down by more than they wait here; " +
			"a call that takes far too long releases its slot.",
		"KEP-3673, parallel image pull limit, has the same thought for pulls",
	},
	trace.WaitBackoff: {
		"back-off", "The last tries failed, and the next one waits, each time about twice as long up to a maximum. " +
			"That keeps what fails from taking the node or the registry down with it; the wait itself is not the fault.",
		"KEP-4603; kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/",
	},
	trace.WaitTokens: {
		"wait for a token", "Requests are limited to so many per second with a burst, and the burst is used up. " +
			"It is the agent's own limit (registryPullQPS, kubeAPIQPS) or the server's, which sent Retry-After.",
		"kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/",
	},
	trace.WaitLock: {
		"wait for a lock", "Another operation works on the same object, and both at the same time would conflict. " +
			"The record says who holds it; if it is always the same one, look there.",
		"kubernetes.io/docs/concepts/storage/volumes/",
	},
	trace.WaitOtherPull: {
		"wait for another pull", "Another pod pulls the same image, and its pull serves this one too; or pulls go one at a time. " +
			"serializeImagePulls and maxParallelImagePulls limit how many run at the same time.",
		"KEP-3673; kubernetes.io/docs/concepts/containers/images/",
	},
	trace.WaitRuntime: {
		"wait for the runtime", "The runtime has to finish something before the agent can continue, such as setting up its network. " +
			"The CRI view shows what it says of itself.",
		"kubernetes.io/docs/concepts/containers/cri/",
	},
	trace.WaitProbe: {
		"wait for a probe", "The container runs, and its next probe is due only after its initial delay or period. " +
			"The wait is a setting of the pod, not work: a shorter periodSeconds or a startup probe makes it shorter.",
		"kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
	},
	trace.WaitGate: {
		"wait for a person", "Somebody steps this pod: each action waits until it is let go. " +
			"The time does not count against the agent or the runtime.",
		"docs/step.md of kubeloupe",
	},
	trace.WaitInit: {
		"wait for an init container", "Init containers run one after the other, and the next begins when the one before has ended well. " +
			"Their time is the pod's own; sidecars among them need only to have started.",
		"KEP-753; kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	trace.WaitGrace: {
		"grace period", "The container received its stop signal and has its grace period to terminate. " +
			"It terminates immediately if its process handles the stop signal.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	trace.WaitPod: {
		"wait for an earlier pod", "A pod of the same full name still ends, and its volumes, ports and cgroup are not free before. " +
			"It is usual after a static pod's manifest was changed.",
		"kubernetes.io/docs/tasks/configure-pod-container/static-pod/",
	},
	trace.WaitAttach: {
		"wait for the attachment", "The volume has to be attached to this node, which a controller in the cluster does, not the agent. " +
			"While it is still attached to another node, this can take minutes.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes/",
	},
	trace.WaitObject: {
		"wait for an object", "A ConfigMap, Secret, token or claim is fetched from the API server. " +
			"If it does not exist the pod stays where it is until somebody makes it.",
		"kubernetes.io/docs/concepts/configuration/configmap/",
	},
	trace.WaitApproval: {
		"wait for an approval", "A certificate was requested, and somebody or a controller has to approve it. " +
			"Until then the agent cannot show the API server, or clients, who it is.",
		"kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/",
	},
	trace.WaitHook: {
		"wait for a hook", "A postStart or preStop handler runs inside the container, and the agent waits for its end. " +
			"A hook that talks to something slow makes every start or stop as slow.",
		"kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
	},
	trace.WaitCredentials: {
		"wait for credentials", "A credential provider on the node supplies the registry's credentials before the pull. " +
			"The credentials are cached for some time, so only some pulls wait for them.",
		"KEP-2133, kubelet credential providers",
	},
	trace.WaitPoll: {
		"wait for the next look", "Upstream's volume manager looks at the pods' volumes every 100 ms, and a pod's worker looks every 300 ms. " +
			"What is ready meanwhile waits for the next look, where kubeloupe's own agent is notified.",
		"github.com/kubernetes/kubernetes, pkg/kubelet/volumemanager/volume_manager.go",
	},
}
