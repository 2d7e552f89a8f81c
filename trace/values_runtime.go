package trace

// RelistCause is the reason of a relist.
type RelistCause string

// The causes of a relist.
const (
	RelistStart     RelistCause = "start"                 // the agent starts
	RelistPeriod    RelistCause = "period"                // the period has elapsed
	RelistOpened    RelistCause = "stream-open"           // the event stream was opened; it does not contain earlier events
	RelistBroken    RelistCause = "stream-error"          // the event stream ended
	RelistNoEvents  RelistCause = "no-events"             // the runtime has no event stream
	RelistNoStatus  RelistCause = "event without status"  // an event had no pod status
	RelistOvertaken RelistCause = "overtaken by an event" // an event arrived during a status call, and described one sandbox only
)

// PLEGType is what happened to a container or sandbox. Upstream: pkg/kubelet/pleg/pleg.go, PodLifeCycleEventType.
type PLEGType string

// The pod lifecycle events.
const (
	ContainerCreated PLEGType = "ContainerCreated" // a container was created
	ContainerStarted PLEGType = "ContainerStarted" // a container runs
	ContainerDied    PLEGType = "ContainerDied"    // a container exited
	ContainerRemoved PLEGType = "ContainerRemoved" // a container was removed
	SandboxChanged   PLEGType = "SandboxChanged"   // a sandbox was created, stopped or removed
)

// PLEGFrom is how the agent learns of changes in the container runtime.
type PLEGFrom string

// The ways in which the agent learns of changes.
const (
	PLEGEvented PLEGFrom = "evented" // by the runtime's stream of events
	PLEGRelists PLEGFrom = "relist"  // by listing everything periodically
)

// VolumeOp is an operation on a volume.
type VolumeOp string

// The operations on volumes.
const (
	VolumeSetup    VolumeOp = "setup"    // the volume is created or mounted
	VolumeTeardown VolumeOp = "teardown" // the volume is unmounted, and everything that the agent created for it is removed
	VolumeAdopt    VolumeOp = "adopt"    // a volume of an earlier agent is adopted
	VolumeGrow     VolumeOp = "grow"     // the file system is expanded to the size of the device
	VolumeRefresh  VolumeOp = "refresh"  // the content is updated
)

// CgroupAction is an operation on a cgroup.
type CgroupAction string

// The operations on cgroups.
const (
	CgroupEnsure  CgroupAction = "ensure"  // it is created if it does not exist, and its limits are set
	CgroupUpdate  CgroupAction = "update"  // its limits are set
	CgroupDestroy CgroupAction = "destroy" // its processes are killed, and it is removed
)

// OOMConstraint is what had no more memory when the kernel killed a process. Upstream: the kernel's mm/oom_kill.c, enum oom_constraint.
type OOMConstraint string

// The constraints.
const (
	OOMMemcg  OOMConstraint = "memcg"         // a cgroup was at its memory limit
	OOMSystem OOMConstraint = "system"        // the node had no free memory
	OOMCpuset OOMConstraint = "cpuset"        // the NUMA nodes of a cpuset had no free memory
	OOMPolicy OOMConstraint = "memory-policy" // the NUMA nodes of a memory policy had no free memory
)

// VolumeChange is a change to all files of a volume.
type VolumeChange string

// VolumeFSGroup is the one change that is published.
const VolumeFSGroup VolumeChange = "fsgroup" // files get the pod's fsGroup

// ProgressSource is where the progress of a pull comes from.
type ProgressSource string

// ProgressContentStore is the one source of progress.
const ProgressContentStore ProgressSource = "content-store" // containerd's content store
