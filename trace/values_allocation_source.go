package trace

// AllocationSource is whose an allocation is, and what it is a part of.
type AllocationSource string

// The sources.
const (
	SourceNode         AllocationSource = "node"          // the container has it for itself; it is a part of the node's
	SourcePod          AllocationSource = "pod"           // the pod has it for all of its containers; it is a part of the node's
	SourcePodExclusive AllocationSource = "pod_exclusive" // the container has it for itself; it is a part of the pod's
	SourcePodShared    AllocationSource = "pod_shared"    // containers of the pod share it; it is a part of the pod's
)
