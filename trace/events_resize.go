package trace

import "time"

// Resize reports a step of an in-place resize of a pod (KEP-1287). The decisions are records of the kind decision.
type Resize struct {
	Op ResizeOp `json:"op"`
	// Container, Resource (cpu, memory), Bound (requests, limits) and Change are what is requested.
	Container string       `json:"container,omitempty"`
	Resource  string       `json:"resource,omitempty"`
	Bound     string       `json:"bound,omitempty"`
	Change    ResizeChange `json:"change,omitempty"`
	// Ground is why it is refused.
	Ground ResizeGround `json:"ground,omitempty"`
	// End is how waiting ended, and Trigger what made the agent try it again.
	End     ResizeEnd     `json:"end,omitempty"`
	Trigger ResizeTrigger `json:"trigger,omitempty"`
	// Priority is the class of the pod's priority, as the kubelet's metrics have it; "unknown" if the pod is gone.
	Priority string `json:"priority,omitempty"`
	// Took is how long it waited, or how long the change of the cgroups took.
	Took time.Duration `json:"took_ns,omitempty"`
	// Failed says that the cgroups could not be changed; the pod's action has the error.
	Failed bool `json:"failed,omitempty"`
}
