package trace

import "time"

// StatusPatch is one write of a pod's object in the API: of its status, or its deletion.
type StatusPatch struct {
	// Op is the kind of write.
	Op PatchOp `json:"op"`
	// Version numbers the statuses of the pod from 1.
	Version uint64 `json:"version,omitempty"`
	// Changed lists the differences from the status that the API server has.
	Changed []Change `json:"changed,omitempty"`
	// Patch is the patch that was sent, truncated if it is long; Bytes is its complete length.
	Patch string `json:"patch,omitempty" scrub:"text"`
	Bytes int    `json:"bytes,omitempty"`
	// Attempt numbers the attempts of one version from 1; omitted for the first.
	Attempt int `json:"attempt,omitempty"`
	// Age is the time since the agent knew of the status: in the begin record until the request was sent, in the end record until
	// the status was written.
	Age time.Duration `json:"age_ns,omitempty"`
	// Mirror says that the object is the mirror pod of a static pod.
	Mirror bool   `json:"mirror,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
	// Clipped is how many changes were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}
