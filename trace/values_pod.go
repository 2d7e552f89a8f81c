package trace

// MilestoneName is the name of a milestone.
type MilestoneName string

// The milestones.
const (
	MilestoneSeen        MilestoneName = "seen"        // the agent received the pod
	MilestoneStarted     MilestoneName = "started"     // all app containers run
	MilestoneReady       MilestoneName = "ready"       // the pod is ready
	MilestoneTerminating MilestoneName = "terminating" // the pod is being terminated
	MilestoneGone        MilestoneName = "gone"        // nothing of the pod is left
)

// WorkerState is the state of a pod's worker.
type WorkerState string

// The states of a pod worker. Upstream: pkg/kubelet/pod_workers.go, PodWorkerState.
const (
	WorkerNone        WorkerState = "none"        // there is no worker
	WorkerSyncing     WorkerState = "syncing"     // the pod is synced with its spec
	WorkerTerminating WorkerState = "terminating" // the pod is being terminated
	WorkerTerminated  WorkerState = "terminated"  // no container of the pod runs; the remains are cleaned up
	WorkerGone        WorkerState = "gone"        // the worker has ended
)

// SyncWhy is the purpose of a pod sync.
type SyncWhy string

// The passes of a pod worker.
const (
	SyncCreate SyncWhy = "create" // the first sync of a pod
	SyncAgain  SyncWhy = "sync"   // a further sync of a pod
	SyncRetry  SyncWhy = "retry"  // the last sync failed
	SyncKill   SyncWhy = "kill"   // the pod is terminated
	SyncFinish SyncWhy = "finish" // the remains of the pod are cleaned up
)

// Verb is the kind of an action.
type Verb string

// The verbs.
const (
	VerbCgroup        Verb = "cgroup"         // create the pod's cgroup
	VerbDirs          Verb = "dirs"           // create the pod's directories
	VerbVolumes       Verb = "volumes"        // set up the pod's volumes
	VerbClaims        Verb = "claims"         // have DRA drivers prepare the pod's ResourceClaims
	VerbImage         Verb = "image"          // pull an image, if it is not on the node
	VerbSandbox       Verb = "sandbox"        // create the pod's sandbox
	VerbCreate        Verb = "create"         // create a container
	VerbStart         Verb = "start"          // start a container
	VerbPostStart     Verb = "post-start"     // run a postStart handler
	VerbPreStop       Verb = "pre-stop"       // run a preStop handler
	VerbResize        Verb = "resize"         // resize a running container
	VerbResizePod     Verb = "resize-pod"     // resize the pod's cgroup
	VerbKill          Verb = "kill"           // stop a container
	VerbStopSandbox   Verb = "stop-sandbox"   // stop a sandbox
	VerbReleaseClaims Verb = "release-claims" // have DRA drivers unprepare the pod's ResourceClaims
	VerbRemove        Verb = "remove"         // remove a container
	VerbRemoveSandbox Verb = "remove-sandbox" // remove a sandbox with its containers
	VerbUnmount       Verb = "unmount"        // tear down the pod's volumes
	VerbRemoveCgroup  Verb = "remove-cgroup"  // remove the pod's cgroup
	VerbRemoveDirs    Verb = "remove-dirs"    // remove the pod's directories
)

// GateWhen is the point of an action where a pod is paused.
type GateWhen string

// Where a pod can be held. A record omits before.
const (
	GateBefore GateWhen = "before" // before an action
	GateCall   GateWhen = "call"   // within an action, before one of its CRI calls
	GateAfter  GateWhen = "after"  // after an action, or its failure
)

// GateVerdict is the command of a step client.
type GateVerdict string

// The answers of a stepping client.
const (
	GateGo       GateVerdict = "go"        // run the action
	GateFail     GateVerdict = "fail"      // the action is not run, and fails
	GateDelay    GateVerdict = "delay"     // run the action after a delay
	GateRetry    GateVerdict = "retry"     // run the action again
	GateSkipRest GateVerdict = "skip-rest" // the client quits: the remaining actions are not run
	GateOpen     GateVerdict = "open"      // the client disconnected: the pod continues without steps
	GateDeadline GateVerdict = "deadline"  // nobody answered, and the deadline of the call is near: it continues by itself
)

// PodPhase is a pod's phase, as in Kubernetes.
type PodPhase string

// The phases of a pod that the agent sets.
const (
	PodPending   PodPhase = "Pending"   // not all init containers have exited, or no app container has started
	PodRunning   PodPhase = "Running"   // an app container runs, or will be restarted
	PodSucceeded PodPhase = "Succeeded" // all containers exited with status 0, and none restarts
	PodFailed    PodPhase = "Failed"    // all containers exited, and at least one failed; or the agent rejected or terminated the pod
)

// Terminal reports whether a pod in this phase has finished: its containers no longer run, and no other phase follows.
func (p PodPhase) Terminal() bool { return p == PodSucceeded || p == PodFailed }

// ContainerState is the state of a container.
type ContainerState string

// The states of a container.
const (
	ContainerWaiting    ContainerState = "waiting"    // it has not started, or waits for its restart
	ContainerRunning    ContainerState = "running"    // it runs
	ContainerTerminated ContainerState = "terminated" // it has exited
)

// PatchOp is the kind of a write of a pod's object in the API.
type PatchOp string

// The writes about a pod's object.
const (
	PatchStatus  PatchOp = "patch"         // the object's status is patched
	PatchDelete  PatchOp = "delete"        // the object is deleted, because nothing is left of the terminated pod
	CreateMirror PatchOp = "create-mirror" // the mirror of a static pod is created
	DeleteMirror PatchOp = "delete-mirror" // the mirror of a static pod is deleted
)

// SandboxFault is the reason why a sandbox must be replaced.
type SandboxFault string

// The faults of a sandbox. Upstream: pkg/kubelet/kuberuntime/util/util.go, PodSandboxChanged.
const (
	SandboxNotReady  SandboxFault = "not-ready"       // it does not run
	SandboxSurplus   SandboxFault = "surplus"         // more than one is ready
	SandboxNetwork   SandboxFault = "network-changed" // the pod has host network and the sandbox does not, or vice versa
	SandboxNoAddress SandboxFault = "no-address"      // it has no address
)

// RestartPolicy is a pod's policy for containers that exited, as in the API.
type RestartPolicy string

// The restart policies.
const (
	RestartAlways    RestartPolicy = "Always"    // a container is always restarted
	RestartOnFailure RestartPolicy = "OnFailure" // a container that failed is restarted
	RestartNever     RestartPolicy = "Never"     // no container is restarted
)

// QoSClass is a pod's quality of service, as in the API.
type QoSClass string

// The classes.
const (
	QoSGuaranteed QoSClass = "Guaranteed" // each container has limits of CPU and memory, and equal requests
	QoSBurstable  QoSClass = "Burstable"  // a container has a request or limit
	QoSBestEffort QoSClass = "BestEffort" // no container has any
)

// PullPolicy is a container's policy for pulls of its image, as in the API.
type PullPolicy string

// The pull policies.
const (
	PullAlways       PullPolicy = "Always"       // the image is pulled, or checked with the registry, each time
	PullIfNotPresent PullPolicy = "IfNotPresent" // the image is pulled if it is not on the node
	PullNever        PullPolicy = "Never"        // the image must be on the node
)
