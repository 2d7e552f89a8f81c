package trace

// RelistCause says what made the PLEG look at all sandboxes and containers.
type RelistCause string

// The causes of a relist.
const (
	RelistStart     RelistCause = "start"                 // the agent starts
	RelistPeriod    RelistCause = "period"                // the period ran out
	RelistOpened    RelistCause = "stream-open"           // the stream of events is open: what was before it is not in it
	RelistBroken    RelistCause = "stream-error"          // the stream of events ended
	RelistNoEvents  RelistCause = "no-events"             // the runtime has no stream of events
	RelistNoStatus  RelistCause = "event without status"  // an event did not say how the pod is
	RelistOvertaken RelistCause = "overtaken by an event" // an event came while the pod was looked at, and told of one sandbox only
)

// PLEGType is what happened to a container or sandbox. Upstream: pkg/kubelet/pleg/pleg.go, PodLifeCycleEventType.
type PLEGType string

// The pod lifecycle events.
const (
	ContainerCreated PLEGType = "ContainerCreated" // a container was made
	ContainerStarted PLEGType = "ContainerStarted" // a container runs
	ContainerDied    PLEGType = "ContainerDied"    // a container ended
	ContainerRemoved PLEGType = "ContainerRemoved" // a container was removed
	SandboxChanged   PLEGType = "SandboxChanged"   // a sandbox was made, ended or was removed
)

// PLEGFrom is how the agent learns of changes in the container runtime.
type PLEGFrom string

// The ways in which the agent learns of changes.
const (
	PLEGEvented PLEGFrom = "evented" // by the runtime's stream of events
	PLEGRelists PLEGFrom = "relist"  // by listing all, again and again
)

// VolumeOp is what is done to a volume.
type VolumeOp string

// The operations on volumes.
const (
	VolumeSetup    VolumeOp = "setup"    // it is made, or mounted
	VolumeTeardown VolumeOp = "teardown" // it is unmounted, and what the agent made of it removed
	VolumeAdopt    VolumeOp = "adopt"    // one that an earlier agent set up is taken over
	VolumeGrow     VolumeOp = "grow"     // its file system is made as large as its device
	VolumeRefresh  VolumeOp = "refresh"  // its contents are brought up to date
)

// CgroupAction is what is done to a cgroup.
type CgroupAction string

// The operations on cgroups.
const (
	CgroupEnsure  CgroupAction = "ensure"  // it is made if it is not there, and its limits are set
	CgroupUpdate  CgroupAction = "update"  // its limits are set
	CgroupDestroy CgroupAction = "destroy" // it is removed, and what runs in it ended
)

// VolumeChange is what is changed in all files of a volume.
type VolumeChange string

// VolumeFSGroup is the one change that is published.
const VolumeFSGroup VolumeChange = "fsgroup" // files get the pod's fsGroup

// ProgressSource is how the progress of a pull is known.
type ProgressSource string

// ProgressContentStore is the one source of progress.
const ProgressContentStore ProgressSource = "content-store" // containerd's content store
