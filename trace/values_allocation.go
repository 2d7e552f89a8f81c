package trace

// AllocationManager is the manager that decided about an allocation.
type AllocationManager string

// The managers.
const (
	ManagerCPU      AllocationManager = "cpu"      // which CPUs containers have for themselves
	ManagerMemory   AllocationManager = "memory"   // from which NUMA nodes containers get their memory
	ManagerTopology AllocationManager = "topology" // which pods are admitted
)

// AllocationOutcome is what was decided about an allocation.
type AllocationOutcome string

// The outcomes.
const (
	AllocationGranted  AllocationOutcome = "granted"  // the container has it for itself from now on
	AllocationKept     AllocationOutcome = "kept"     // the container already had it, from an earlier agent, or before an observer looked
	AllocationReleased AllocationOutcome = "released" // it is free again
	AllocationRefused  AllocationOutcome = "refused"  // the pod is rejected
	AllocationAdmitted AllocationOutcome = "admitted" // the pod has all that it requests for itself
	AllocationStarted  AllocationOutcome = "started"  // the manager has started; what containers have is from an earlier agent
)

// AllocationWhy is the reason of what was chosen or released.
type AllocationWhy string

// The reasons.
const (
	AllocationAligned  AllocationWhy = "aligned"  // all of it is on the NUMA nodes that the topology manager chose
	AllocationPartly   AllocationWhy = "partly"   // the chosen NUMA nodes did not have enough
	AllocationAnywhere AllocationWhy = "anywhere" // no NUMA nodes were chosen
	AllocationReused   AllocationWhy = "reused"   // an init container of the pod had some of it before
	AllocationResized  AllocationWhy = "resized"  // the pod was resized
	AllocationEnded    AllocationWhy = "ended"    // the pod has terminated, or was rejected
	AllocationStale    AllocationWhy = "stale"    // the container is unknown: an earlier agent allocated it
	AllocationInitDone AllocationWhy = "init"     // the init container has finished
	AllocationUnlisted AllocationWhy = "unlisted" // another kubelet does not list it any more; the reason is not known
)
