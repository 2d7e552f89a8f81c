package trace

// Decider is the part of the agent that decides.
type Decider string

// Who decides.
const (
	ByAdmission    Decider = "admission"    // whether a pod may run on the node
	ByBackoff      Decider = "backoff"      // when an image may be pulled again
	ByCerts        Decider = "certs"        // when a certificate is renewed
	ByDeadline     Decider = "deadline"     // when a pod has been active for too long
	ByContainerGC  Decider = "gc.container" // which containers, sandboxes and logs are removed
	ByImageGC      Decider = "gc.image"     // which images are removed
	ByHousekeeping Decider = "housekeeping" // what happens to containers of unknown pods
	ByLogRotation  Decider = "log.rotate"   // when a container's log is rotated
	ByNode         Decider = "node"         // what happens to a Node object of another machine
	ByOrphans      Decider = "orphan"       // what happens to directories and cgroups of unknown pods
	ByPlugins      Decider = "plugins"      // which plugins are registered
	ByEviction     Decider = "eviction"     // which pods are evicted
	ByPreemption   Decider = "preemption"   // which pods are preempted for a critical pod
	ByPressure     Decider = "pressure"     // when the node has resource pressure
	ByResize       Decider = "resize"       // whether a pod can be resized
	ByRestart      Decider = "restart"      // whether and when a container that exited is restarted
	ByShutdown     Decider = "shutdown"     // which pods are terminated because the node shuts down
	BySlots        Decider = "slots"        // which operation releases its slot, and how many slots there are
	ByStatus       Decider = "status"       // whether a change of a pod's status is allowed
	ByUserNS       Decider = "userns"       // which ids of the host a pod gets
	ByVolumes      Decider = "volumes"      // when a volume is set up again, and which volumes and storage backends are healthy
)

// Verdict is the outcome of a decision.
type Verdict string

// The verdicts.
const (
	VerdictAdmit      Verdict = "admit"        // the pod may run
	VerdictReject     Verdict = "reject"       // the pod may not run, or the status may not be set
	VerdictWait       Verdict = "wait"         // not now
	VerdictRestart    Verdict = "restart"      // the container starts again
	VerdictLeave      Verdict = "leave"        // the container will not be restarted
	VerdictKill       Verdict = "kill"         // the container is ended, and will not be restarted
	VerdictEnd        Verdict = "end"          // the pod is terminated
	VerdictKeep       Verdict = "keep"         // it stays
	VerdictRemove     Verdict = "remove"       // it is removed
	VerdictResize     Verdict = "resize"       // the pod gets the resources that it requests
	VerdictDeferred   Verdict = "Deferred"     // the pod gets its resources when they are free
	VerdictInfeasible Verdict = "Infeasible"   // the pod can never get its resources on this node
	VerdictRenew      Verdict = "renew"        // another certificate is requested
	VerdictBootstrap  Verdict = "bootstrap"    // a first certificate is requested with the bootstrap token
	VerdictRotate     Verdict = "rotate"       // the log is rotated
	VerdictReopen     Verdict = "reopen"       // the runtime creates the log's file again
	VerdictMap        Verdict = "map"          // the pod gets a range of ids
	VerdictShort      Verdict = "short"        // there is too little of it
	VerdictEnough     Verdict = "enough"       // there is enough of it again
	VerdictOverstays  Verdict = "overstays"    // it takes clearly longer than usual, and loses its slot
	VerdictWidth      Verdict = "width"        // the number of slots changes
	VerdictSetUpAgain Verdict = "set up again" // the volume was lost, and is set up again
	VerdictUnhealthy  Verdict = "unhealthy"    // the CSI driver reports problems of the volume, or of its storage backend
	VerdictHealthy    Verdict = "healthy"      // the CSI driver reports no problem any more
	VerdictRegistered Verdict = "registered"   // the plugin is registered
	VerdictRefused    Verdict = "refused"      // the plugin is not registered
	VerdictRemoved    Verdict = "removed"      // the plugin's socket is gone, and so is its registration
	VerdictUnwatched  Verdict = "unwatched"    // the directory cannot be watched
	VerdictAdopt      Verdict = "adopt"        // the node object of another machine is taken over
)

// UsageSource is how the usage of a volume is known.
type UsageSource string

// The sources.
const (
	MeasuredByQuota UsageSource = "quota" // the file system counts it, by a project quota
	MeasuredByScan  UsageSource = "scan"  // the agent walked the directory
)

// RemovalGround is the reason why garbage collection removes an image.
type RemovalGround string

// The grounds of a removal.
const (
	RemovedForAge    RemovalGround = "age"    // it was unused for longer than imageMaximumGCAge
	RemovedForSpace  RemovalGround = "space"  // the file system is too full
	RemovedForDisuse RemovalGround = "unused" // the removal of all unused images was requested
)
