package trace

// AgentState says what the agent as a whole does.
type AgentState string

// The states of the agent.
const (
	AgentStarting AgentState = "starting" // it connects to the container runtime and the API server
	AgentReady    AgentState = "ready"    // it runs pods
	AgentDegraded AgentState = "degraded" // the container runtime or the pod network is not ready
	AgentStopping AgentState = "stopping" // it ends its parts; pods are left running
	AgentStopped  AgentState = "stopped"  // it has ended
)

// SourceName names a source of pods, as the annotation kubernetes.io/config.source does. A program may add sources with names of its own.
type SourceName string

// The sources of pods.
const (
	SourceFile SourceName = "file" // static pods from a file or directory
	SourceHTTP SourceName = "http" // static pods from a URL
	SourceAPI  SourceName = "api"  // the API server
	SourceStep SourceName = "step" // the pod that is stepped
)

// SourceOp is what became of pods in their source. Upstream: pkg/kubelet/types/pod_update.go, PodOperation.
type SourceOp string

// The operations of sources.
const (
	OpSet       SourceOp = "SET"       // the source delivered its whole set
	OpAdd       SourceOp = "ADD"       // pods new to their source
	OpUpdate    SourceOp = "UPDATE"    // pods whose spec or metadata changed
	OpRemove    SourceOp = "REMOVE"    // pods that are no longer in their source
	OpReconcile SourceOp = "RECONCILE" // pods of which the source shows another status, or only another version
	OpDelete    SourceOp = "DELETE"    // pods that are to end gracefully: their deletionTimestamp is set
)

// SourceCause says what made a source look.
type SourceCause string

// The causes of a look.
const (
	SourceStart   SourceCause = "start"   // the first look
	SourceInotify SourceCause = "inotify" // the kernel told of a change
	SourcePeriod  SourceCause = "period"  // the period ran out
	SourceWatch   SourceCause = "watch"   // the API server's watch told of a change
	SourceExpired SourceCause = "expired" // the API server could not continue its watch from where it was
	SourceSettled SourceCause = "settled" // a manifest was not in order, and has had time to get there
	SourceGiven   SourceCause = "set"     // a program set the pods
)

// LoopCase says which channel of the syncLoop was ready.
type LoopCase string

// The cases of the syncLoop.
const (
	LoopConfig       LoopCase = "config"       // pods of a source changed
	LoopPLEG         LoopCase = "pleg"         // the container runtime changed something of a pod
	LoopSync         LoopCase = "sync"         // a pod is due, as its worker asked
	LoopProbe        LoopCase = "probe"        // a probe says something else of a container
	LoopHousekeeping LoopCase = "housekeeping" // what nobody knows any more is cleaned up
)

// LoopOp says what happened on the channel: for the case config a [SourceOp], for pleg the type of the event, for probe the probe, and
// for housekeeping why it is done now.
type LoopOp string

// What may happen on a channel of the syncLoop.
const (
	LoopAdd              LoopOp = "ADD"              // config: pods new to their source
	LoopUpdate           LoopOp = "UPDATE"           // config: pods whose spec or metadata changed
	LoopRemove           LoopOp = "REMOVE"           // config: pods that are no longer in their source
	LoopReconcile        LoopOp = "RECONCILE"        // config: pods of which the source shows another status
	LoopDelete           LoopOp = "DELETE"           // config: pods that are to end gracefully
	LoopContainerCreated LoopOp = "ContainerCreated" // pleg: a container was created
	LoopContainerStarted LoopOp = "ContainerStarted" // pleg: a container started
	LoopContainerDied    LoopOp = "ContainerDied"    // pleg: a container ended
	LoopContainerRemoved LoopOp = "ContainerRemoved" // pleg: a container was removed
	LoopSandboxChanged   LoopOp = "SandboxChanged"   // pleg: a sandbox was made, ended or removed
	LoopStartup          LoopOp = "startup"          // probe: a startup probe
	LoopReadiness        LoopOp = "readiness"        // probe: a readiness probe
	LoopLiveness         LoopOp = "liveness"         // probe: a liveness probe
	LoopAsked            LoopOp = "asked"            // housekeeping: a part of the agent asked for it
	LoopPeriod           LoopOp = "period"           // housekeeping: its period ran out
)

// LogLevel is how much a line matters.
type LogLevel string

// The levels of lines.
const (
	LevelDebug LogLevel = "debug" // for who looks for an error in the agent
	LevelInfo  LogLevel = "info"  // news
	LevelWarn  LogLevel = "warn"  // something that may need a person
	LevelError LogLevel = "error" // something failed
)

// Signal names a resource of the node that may run short. Upstream: eviction signals, without ".available".
type Signal string

// The signals.
const (
	SignalMemory  Signal = "memory"  // the node's memory
	SignalNodeFS  Signal = "nodefs"  // the file system of the agent's directory
	SignalImageFS Signal = "imagefs" // the file system of the images
)

// ThresholdKind says what happens at a mark of a resource.
type ThresholdKind string

// The kinds of thresholds.
const (
	ThresholdPressure ThresholdKind = "pressure" // with less free, the node reports pressure; upstream: evictionHard
	ThresholdImageGC  ThresholdKind = "image-gc" // with more used, images are removed; at 100 % never
)

// GCKind says what a garbage collection collects.
type GCKind string

// The kinds of garbage collection.
const (
	GCContainers GCKind = "container" // containers that ended, their sandboxes and logs
	GCImages     GCKind = "image"     // images that no container uses
)

// GCCause says what started a garbage collection.
type GCCause string

// The causes of garbage collections.
const (
	GCPeriod GCCause = "period" // its period ran out
	GCDemand GCCause = "demand" // somebody asked for it
)

// EventType is how much an event for people matters, as Kubernetes has it.
type EventType string

// The types of events.
const (
	EventNormal  EventType = "Normal"  // news
	EventWarning EventType = "Warning" // something that may need a person
)

// Resource is something that tasks of the node wait for.
type Resource string

// The resources of the kernel's pressure figures (PSI).
const (
	ResourceCPU    Resource = "cpu"    // a processor
	ResourceMemory Resource = "memory" // memory
	ResourceIO     Resource = "io"     // a disk
)
