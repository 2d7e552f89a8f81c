package trace

import "time"

// ProbeAttempt is one attempt of a container's probe.
type ProbeAttempt struct {
	Container   string    `json:"container"`
	ContainerID string    `json:"container_id,omitempty"`
	Probe       ProbeKind `json:"probe"`
	How         ProbeHow  `json:"how"`
	// Early says that the attempt was made before its time, to notice a success sooner. A failure of an early attempt does not
	// count.
	Early bool `json:"early,omitempty"`
	// Result is the result; empty if the attempt was canceled. This field and all below are set at the end.
	Result ProbeResult `json:"result,omitempty"`
	// TimedOut says that the attempt timed out.
	TimedOut bool `json:"timed_out,omitempty"`
	// Answer is what a failed attempt ran into, if that is known; Code is the HTTP status or the command's exit status.
	Answer ProbeAnswer `json:"answer,omitempty"`
	Code   int         `json:"code,omitempty"`
	// Class is the class of the failure of an attempt that could not be made.
	Class FailureClass `json:"class,omitempty"`
	// Output is the probe's output, truncated to a few hundred bytes.
	Output string `json:"output,omitempty" scrub:"text"`
	// Count is the number of attempts in a row with this result; Threshold is how many are needed.
	Count     int `json:"count,omitempty"`
	Threshold int `json:"threshold,omitempty"`
	// State is the probe's state of the container after this attempt.
	State ProbeState `json:"state,omitempty"`
	// Throttle shows how the CPU limit throttled the container before the end of a failed attempt; omitted if there is no limit or
	// its figures cannot be read.
	Throttle *Throttle `json:"throttle,omitempty"`
}

// Throttle shows how a CPU limit throttled a container, or its pod.
type Throttle struct {
	// Interval is the time that the figures cover. It ends with the attempt. It begins with the container, or with the previous
	// figures or, if those are old, within the attempt.
	Interval time.Duration `json:"interval_ns"`
	// Periods is the number of the kernel's periods (usually 100 ms) with runnable threads, Throttled the number of those in which
	// the limit was reached.
	Periods   int64 `json:"periods"`
	Throttled int64 `json:"throttled"`
	// Stopped is how long the limit stopped threads, added up over the CPUs.
	Stopped time.Duration `json:"stopped_ns,omitempty"`
}
