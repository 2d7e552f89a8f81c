package trace

// AgentState is the state of the agent as a whole.
type AgentState string

// The states of the agent.
const (
	AgentStarting AgentState = "starting" // it connects to the container runtime and the API server
	AgentReady    AgentState = "ready"    // it runs pods
	AgentDegraded AgentState = "degraded" // the container runtime or the pod network is not ready
	AgentStopping AgentState = "stopping" // it stops its parts; pods continue to run
	AgentStopped  AgentState = "stopped"  // it has stopped
)

// SourceName is the name of a source of pods, as in the annotation kubernetes.io/config.source. A program can add sources with
// other names.
type SourceName string

// The sources of pods.
const (
	SourceFile SourceName = "file" // static pods from a file or directory
	SourceHTTP SourceName = "http" // static pods from a URL
	SourceAPI  SourceName = "api"  // the API server
	SourceStep SourceName = "step" // the pod of a step session
)

// SourceOp is a change of pods in their source. Upstream: pkg/kubelet/types/pod_update.go, PodOperation.
type SourceOp string

// The operations of sources.
const (
	OpSet       SourceOp = "SET"       // the source delivered its whole set
	OpAdd       SourceOp = "ADD"       // pods new to their source
	OpUpdate    SourceOp = "UPDATE"    // pods whose spec or metadata changed
	OpRemove    SourceOp = "REMOVE"    // pods that are no longer in their source
	OpReconcile SourceOp = "RECONCILE" // pods with a new status or a new version in the source
	OpDelete    SourceOp = "DELETE"    // pods that must terminate: their deletionTimestamp is set
)

// SourceCause is the reason why a source looked for changes.
type SourceCause string

// The causes of a look.
const (
	SourceStart   SourceCause = "start"   // the first look
	SourceInotify SourceCause = "inotify" // the kernel reported a change
	SourcePeriod  SourceCause = "period"  // the period has elapsed
	SourceWatch   SourceCause = "watch"   // the API server's watch reported a change
	SourceExpired SourceCause = "expired" // the watch could not continue from its position
	SourceSettled SourceCause = "settled" // an invalid manifest is read again after a pause
	SourceGiven   SourceCause = "set"     // a program set the pods
)

// LoopCase is a channel of the syncLoop.
type LoopCase string

// The cases of the syncLoop.
const (
	LoopConfig       LoopCase = "config"       // pods of a source changed
	LoopPLEG         LoopCase = "pleg"         // a pod changed in the container runtime
	LoopSync         LoopCase = "sync"         // a sync that a pod worker requested is due
	LoopProbe        LoopCase = "probe"        // the result of a container's probe changed
	LoopHousekeeping LoopCase = "housekeeping" // unknown pods and their remains are cleaned up
	LoopResize       LoopCase = "resize"       // a pod has terminated: resizes that wait for free resources are tried again
)

// LoopOp is what happened on the channel: for the case config a [SourceOp], for pleg the type of the event, for probe the probe,
// and for housekeeping its reason.
type LoopOp string

// What may happen on a channel of the syncLoop.
const (
	LoopAdd              LoopOp = "ADD"              // config: pods new to their source
	LoopUpdate           LoopOp = "UPDATE"           // config: pods whose spec or metadata changed
	LoopRemove           LoopOp = "REMOVE"           // config: pods that are no longer in their source
	LoopReconcile        LoopOp = "RECONCILE"        // config: pods with a new status in the source
	LoopDelete           LoopOp = "DELETE"           // config: pods that must terminate
	LoopContainerCreated LoopOp = "ContainerCreated" // pleg: a container was created
	LoopContainerStarted LoopOp = "ContainerStarted" // pleg: a container started
	LoopContainerDied    LoopOp = "ContainerDied"    // pleg: a container exited
	LoopContainerRemoved LoopOp = "ContainerRemoved" // pleg: a container was removed
	LoopSandboxChanged   LoopOp = "SandboxChanged"   // pleg: a sandbox was created, stopped or removed
	LoopStartup          LoopOp = "startup"          // probe: a startup probe
	LoopReadiness        LoopOp = "readiness"        // probe: a readiness probe
	LoopLiveness         LoopOp = "liveness"         // probe: a liveness probe
	LoopAsked            LoopOp = "asked"            // housekeeping: a part of the agent requested it
	LoopPeriod           LoopOp = "period"           // housekeeping: the period has elapsed
)

// LogLevel is the severity of a line.
type LogLevel string

// The levels of lines.
const (
	LevelDebug LogLevel = "debug" // for debugging the agent
	LevelInfo  LogLevel = "info"  // information
	LevelWarn  LogLevel = "warn"  // it may need attention
	LevelError LogLevel = "error" // something failed
)

// Signal is a resource of the node that can be under pressure. Upstream: eviction signals, without ".available".
type Signal string

// The signals.
const (
	SignalMemory            Signal = "memory"                 // the node's memory, in bytes
	SignalAllocatable       Signal = "allocatableMemory"      // the memory that all pods together may use, in bytes
	SignalNodeFS            Signal = "nodefs"                 // the file system of the agent's directory, in bytes
	SignalNodeFSInodes      Signal = "nodefs.inodesFree"      // its inodes
	SignalImageFS           Signal = "imagefs"                // the file system of the images, in bytes
	SignalImageFSInodes     Signal = "imagefs.inodesFree"     // its inodes
	SignalContainerFS       Signal = "containerfs"            // the file system of the containers' layers, in bytes
	SignalContainerFSInodes Signal = "containerfs.inodesFree" // its inodes
	SignalPID               Signal = "pid"                    // the process ids of the node

	// A pod's own limits of local storage, in bytes: for them pods are evicted too, and the metric kubelet_evictions has these names.
	SignalEmptyDirLimit  Signal = "emptydirfs.limit"           // sizeLimit of an emptyDir volume
	SignalPodLimit       Signal = "ephemeralpodfs.limit"       // ephemeral-storage of the pod
	SignalContainerLimit Signal = "ephemeralcontainerfs.limit" // ephemeral-storage of a container
)

// Unit is the unit of a signal's figures.
func (s Signal) Unit() Unit {
	switch s {
	case SignalNodeFSInodes, SignalImageFSInodes, SignalContainerFSInodes:
		return UnitInodes
	case SignalPID:
		return UnitProcesses
	case SignalMemory, SignalAllocatable, SignalNodeFS, SignalImageFS, SignalContainerFS, SignalEmptyDirLimit, SignalPodLimit, SignalContainerLimit:
	}
	return UnitBytes
}

// Unit is a unit of figures.
type Unit string

// The units.
const (
	UnitBytes     Unit = "bytes"     // of memory and disks
	UnitInodes    Unit = "inodes"    // of file systems
	UnitProcesses Unit = "processes" // processes and threads
)

// EvictionOutcome is what a round of the eviction manager did.
type EvictionOutcome string

// The outcomes.
const (
	EvictionReclaimed EvictionOutcome = "reclaimed" // containers and images that no pod uses were removed; that was enough
	EvictionEvicted   EvictionOutcome = "evicted"   // a pod is evicted
	EvictionNone      EvictionOutcome = "none"      // no pod can be evicted
	EvictionNear      EvictionOutcome = "near"      // there is enough, but little more than the threshold: the ranking says who would go
)

// ShutdownState is a step of a graceful shutdown.
type ShutdownState string

// The steps of a graceful shutdown.
const (
	ShutdownHeld      ShutdownState = "held"      // the lock is held: a shutdown of the machine waits for the pods
	ShutdownLast      ShutdownState = "last"      // the agent starts, and knows of an earlier graceful shutdown
	ShutdownAnnounced ShutdownState = "announced" // the machine is about to shut down
	ShutdownGroup     ShutdownState = "group"     // the pods of a group terminate
	ShutdownReleased  ShutdownState = "released"  // the lock is released: the machine shuts down
	ShutdownCanceled  ShutdownState = "canceled"  // the machine does not shut down
)

// Underway reports whether the node is shutting down at this step.
func (s ShutdownState) Underway() bool {
	switch s {
	case ShutdownAnnounced, ShutdownGroup, ShutdownReleased:
		return true
	case ShutdownHeld, ShutdownLast, ShutdownCanceled:
	}
	return false
}

// ThresholdKind is what happens at a threshold.
type ThresholdKind string

// The kinds of thresholds.
const (
	ThresholdPressure ThresholdKind = "pressure" // below this free amount, the node reports pressure; upstream: evictionHard
	ThresholdImageGC  ThresholdKind = "image-gc" // above this usage, images are removed; 100 % means never
)

// GCKind is what a garbage collection run removes.
type GCKind string

// The kinds of garbage collection.
const (
	GCContainers GCKind = "container" // containers that exited, their sandboxes and logs
	GCImages     GCKind = "image"     // images that no container uses
)

// GCCause is the reason of a garbage collection run.
type GCCause string

// The causes of garbage collections.
const (
	GCPeriod   GCCause = "period"   // the period has elapsed
	GCDemand   GCCause = "demand"   // it was requested
	GCPressure GCCause = "pressure" // the node is short of disk
)

// EventType is the type of a Kubernetes Event.
type EventType string

// The types of events.
const (
	EventNormal  EventType = "Normal"  // information
	EventWarning EventType = "Warning" // it may need attention
)

// Resource is a resource that tasks of the node wait for.
type Resource string

// The resources of the kernel's pressure figures (PSI).
const (
	ResourceCPU    Resource = "cpu"    // CPU time
	ResourceMemory Resource = "memory" // memory
	ResourceIO     Resource = "io"     // a disk
)
