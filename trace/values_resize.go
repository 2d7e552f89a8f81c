package trace

// ResizeOp is what is reported about an in-place resize.
type ResizeOp string

// What is reported about a resize.
const (
	ResizeRequested ResizeOp = "requested" // the pod's spec requests another amount for a container
	ResizeRefused   ResizeOp = "refused"   // it is not possible, whatever is free on the node
	ResizeWaited    ResizeOp = "waited"    // it no longer waits for free resources
	ResizeActuated  ResizeOp = "actuated"  // the cgroups were changed, or that failed
)

// ResizeChange is how an amount changes.
type ResizeChange string

// How an amount changes. Upstream: pkg/kubelet/kubelet.go, resizeOperationForResources.
const (
	ResizeAdd      ResizeChange = "add"      // there was none
	ResizeRemove   ResizeChange = "remove"   // there is none now
	ResizeIncrease ResizeChange = "increase" // it is larger
	ResizeDecrease ResizeChange = "decrease" // it is smaller
)

// ResizeGround is why a resize is refused, as the label reason_detail of the kubelet's metric has it.
type ResizeGround string

// Why a resize is refused. Upstream: pkg/kubelet/allocation/handlers.go.
const (
	ResizeOfSwap      ResizeGround = "swap_limitation"                             // the container may use swap
	ResizeOfOwnCPUs   ResizeGround = "guaranteed_pod_cpu_manager_static_policy"    // the pod may have CPUs for itself
	ResizeOfVolumeV1  ResizeGround = "cgroups_v1_unsupported"                      // it is of a volume in memory, and the node has cgroup v1
	ResizeOfOwnMemory ResizeGround = "guaranteed_pod_memory_manager_static_policy" // the pod may have memory for itself
)

// ResizeEnd is how waiting for free resources ended.
type ResizeEnd string

// How waiting for free resources ended. Upstream: pkg/kubelet/metrics/metrics.go, DeferredResizeResolution.
const (
	ResizeAccepted   ResizeEnd = "accepted"   // there are enough now
	ResizeReverted   ResizeEnd = "reverted"   // the spec requests what the pod has
	ResizeTerminated ResizeEnd = "terminated" // the pod has ended
	ResizeHopeless   ResizeEnd = "infeasible" // it is not possible on this node
)

// ResizeTrigger is what made the agent try a resize.
type ResizeTrigger string

// What made the agent try a resize. Upstream: pkg/kubelet/allocation/allocation_manager.go, TriggerReasonPodResized and others.
const (
	ResizeForResized    ResizeTrigger = "pod_resized"    // another pod's status changed
	ResizeForUpdated    ResizeTrigger = "pod_updated"    // a pod's spec changed
	ResizeForAdded      ResizeTrigger = "pods_added"     // the agent received the pod
	ResizeForRemoved    ResizeTrigger = "pods_removed"   // another pod was deleted
	ResizeForTerminated ResizeTrigger = "pod_terminated" // another pod has ended
	ResizeForNode       ResizeTrigger = "node_changed"   // a pressure condition or a shutdown of the node has ended, or its labels or taints have changed
)
