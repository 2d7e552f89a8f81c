package trace

import "time"

// ProbeAttempt is one attempt of a container's probe.
type ProbeAttempt struct {
	Container   string    `json:"container"`
	ContainerID string    `json:"container_id,omitempty"`
	Probe       ProbeKind `json:"probe"`
	How         ProbeHow  `json:"how"`
	// Early says that it was made before its time, to learn of a success sooner: that it
	// failed does not count.
	Early bool `json:"early,omitempty"`
	// Result is how it went; empty when it was cut short. Set at the end, as all below.
	Result ProbeResult `json:"result,omitempty"`
	// TimedOut says that it took longer than its timeout.
	TimedOut bool `json:"timed_out,omitempty"`
	// Output is what the probe said, cut to some hundred bytes.
	Output string `json:"output,omitempty" scrub:"text"`
	// Count is how many attempts in a row had this result, of Threshold that are needed.
	Count     int `json:"count,omitempty"`
	Threshold int `json:"threshold,omitempty"`
	// State is what the probe says of the container after this attempt.
	State ProbeState `json:"state,omitempty"`
	// Throttle is what the container's CPU limit held back before the end of an attempt that
	// failed; left out where there is no such limit or its figures cannot be read.
	Throttle *Throttle `json:"throttle,omitempty"`
}

// Throttle is how a CPU limit held a container, or its pod, back for a time.
type Throttle struct {
	// Interval is the time that the figures are about. It ends with the attempt, and begins with
	// the container, with the figures before these or, if that is long ago, within the attempt.
	Interval time.Duration `json:"interval_ns"`
	// Periods is in how many of the kernel's periods (mostly 100 ms) there was something to run,
	// Throttled in how many of these the limit was used up.
	Periods   int64 `json:"periods"`
	Throttled int64 `json:"throttled"`
	// Stopped is how long threads were stopped for it, added up over the processors.
	Stopped time.Duration `json:"stopped_ns,omitempty"`
}
