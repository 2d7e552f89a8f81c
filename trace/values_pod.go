package trace

// MilestoneName names a point in a pod's life.
type MilestoneName string

// The milestones.
const (
	MilestoneSeen        MilestoneName = "seen"        // the agent received the pod
	MilestoneStarted     MilestoneName = "started"     // all app containers run
	MilestoneReady       MilestoneName = "ready"       // the pod is ready
	MilestoneTerminating MilestoneName = "terminating" // the pod is being ended
	MilestoneGone        MilestoneName = "gone"        // nothing of the pod is left
)

// WorkerState is where a pod's worker is in its life.
type WorkerState string

// The states of a pod worker. Upstream: pkg/kubelet/pod_workers.go, PodWorkerState.
const (
	WorkerNone        WorkerState = "none"        // there is no worker
	WorkerSyncing     WorkerState = "syncing"     // the pod is brought to what its spec wants
	WorkerTerminating WorkerState = "terminating" // the pod is being ended
	WorkerTerminated  WorkerState = "terminated"  // nothing of the pod runs; its remains are cleaned up
	WorkerGone        WorkerState = "gone"        // the worker has ended
)

// SyncWhy says what a pass of a pod worker is for.
type SyncWhy string

// The passes of a pod worker.
const (
	SyncCreate SyncWhy = "create" // the first pass over a pod
	SyncAgain  SyncWhy = "sync"   // another look at a pod
	SyncRetry  SyncWhy = "retry"  // the pass before failed
	SyncKill   SyncWhy = "kill"   // the pod is ended
	SyncFinish SyncWhy = "finish" // what is left of the pod is cleaned up
)

// Verb is the kind of an action.
type Verb string

// The verbs.
const (
	VerbCgroup        Verb = "cgroup"         // make the pod's cgroup
	VerbDirs          Verb = "dirs"           // make the pod's directories
	VerbVolumes       Verb = "volumes"        // have the pod's volumes set up
	VerbImage         Verb = "image"          // have an image on the node
	VerbSandbox       Verb = "sandbox"        // make the pod's sandbox
	VerbCreate        Verb = "create"         // create a container
	VerbStart         Verb = "start"          // start a container
	VerbPostStart     Verb = "post-start"     // run a postStart handler
	VerbPreStop       Verb = "pre-stop"       // run a preStop handler
	VerbResize        Verb = "resize"         // give a running container other resources
	VerbResizePod     Verb = "resize-pod"     // give the pod's cgroup other resources
	VerbKill          Verb = "kill"           // end a container
	VerbStopSandbox   Verb = "stop-sandbox"   // end a sandbox
	VerbRemove        Verb = "remove"         // remove a container
	VerbRemoveSandbox Verb = "remove-sandbox" // remove a sandbox with its containers
	VerbUnmount       Verb = "unmount"        // have the pod's volumes torn down
	VerbRemoveCgroup  Verb = "remove-cgroup"  // remove the pod's cgroup
	VerbRemoveDirs    Verb = "remove-dirs"    // remove the pod's directories
)

// GateWhen says where in an action a pod that is stepped stands.
type GateWhen string

// Where a pod may be held. A record leaves out before.
const (
	GateBefore GateWhen = "before" // before an action
	GateCall   GateWhen = "call"   // within an action, before one CRI call of it
	GateAfter  GateWhen = "after"  // after an action, or its failure
)

// GateVerdict is what a stepping client told the gate.
type GateVerdict string

// The answers of a stepping client.
const (
	GateGo       GateVerdict = "go"        // go on
	GateFail     GateVerdict = "fail"      // the action is not done, and fails
	GateDelay    GateVerdict = "delay"     // go on after a delay
	GateRetry    GateVerdict = "retry"     // do the action again
	GateSkipRest GateVerdict = "skip-rest" // the client quits: nothing more is done
	GateOpen     GateVerdict = "open"      // the client went away: the pod goes on by itself
)

// PodPhase is a pod's phase, as Kubernetes has it.
type PodPhase string

// The phases of a pod that the agent sets.
const (
	PodPending   PodPhase = "Pending"   // not all init containers have ended, or no app container has started
	PodRunning   PodPhase = "Running"   // an app container runs, or will be restarted
	PodSucceeded PodPhase = "Succeeded" // all containers ended well and none restarts
	PodFailed    PodPhase = "Failed"    // all containers ended, one of them badly; or the agent refused or ended the pod
)

// ContainerState is what a container does.
type ContainerState string

// The states of a container.
const (
	ContainerWaiting    ContainerState = "waiting"    // it is yet to start, or to start again
	ContainerRunning    ContainerState = "running"    // it runs
	ContainerTerminated ContainerState = "terminated" // it has ended
)

// PatchOp is what is written about a pod's object in the API.
type PatchOp string

// The writes about a pod's object.
const (
	PatchStatus  PatchOp = "patch"         // its status is patched
	PatchDelete  PatchOp = "delete"        // it is deleted, as nothing is left of a pod that was to go
	CreateMirror PatchOp = "create-mirror" // the mirror of a static pod is created
	DeleteMirror PatchOp = "delete-mirror" // the mirror of a static pod is deleted
)

// SandboxFault says what is wrong with a sandbox, so that another one is made.
type SandboxFault string

// The faults of a sandbox. Upstream: pkg/kubelet/kuberuntime/util/util.go, PodSandboxChanged.
const (
	SandboxNotReady  SandboxFault = "not-ready"       // it does not run
	SandboxSurplus   SandboxFault = "surplus"         // more than one is ready
	SandboxNetwork   SandboxFault = "network-changed" // it is on the host's network and the pod is not, or the other way round
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
	QoSGuaranteed QoSClass = "Guaranteed" // each container has limits of CPU and memory, and requests as much
	QoSBurstable  QoSClass = "Burstable"  // a container has a request or limit
	QoSBestEffort QoSClass = "BestEffort" // no container has any
)
