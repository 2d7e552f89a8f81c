package trace

import "time"

// StatusPatch is one write about a pod's object in the API: its status, or its end.
type StatusPatch struct {
	// Op is what is written.
	Op PatchOp `json:"op"`
	// Version numbers the statuses of the pod from 1.
	Version uint64 `json:"version,omitempty"`
	// Changed is how it differs from the status that the API server has.
	Changed []Change `json:"changed,omitempty"`
	// Patch is what was sent, cut short when it is long; Bytes is its whole length.
	Patch string `json:"patch,omitempty" scrub:"text"`
	Bytes int    `json:"bytes,omitempty"`
	// Attempt numbers the tries of one version from 1; left out for the first.
	Attempt int `json:"attempt,omitempty"`
	// Age is the time since the agent knew, at the begin until it was sent, at the end until it was written.
	Age time.Duration `json:"age_ns,omitempty"`
	// Mirror says that the object mirrors a static pod.
	Mirror bool   `json:"mirror,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
	// Clipped is how many changes were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}
