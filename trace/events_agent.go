package trace

import "time"

// KV is one named input of a decision.
type KV struct {
	K string `json:"k"`
	V string `json:"v"`
}

// Agent tells what the agent as a whole is doing.
type Agent struct {
	State AgentState `json:"state"`
	// Node is the node's name.
	Node string `json:"node,omitempty"`
	// Version is kubeloupe's own version.
	Version string `json:"version,omitempty"`
	// Runtime and RuntimeVersion are what the CRI server calls itself.
	Runtime        string `json:"runtime,omitempty"`
	RuntimeVersion string `json:"runtime_version,omitempty"`
	// Endpoint is the CRI socket.
	Endpoint string `json:"endpoint,omitempty"`
	// Simulated says that no real container runs: the runtime is in memory.
	Simulated bool `json:"simulated,omitempty"`
	// PID is the agent's process id.
	PID int `json:"pid,omitempty"`
	// Reason says why, for degraded and stopping.
	Reason string `json:"reason,omitempty" scrub:"text"`
}

// Source tells what a pod source delivered.
type Source struct {
	Source SourceName `json:"source"`
	// Op is SET when the source delivered its whole set, otherwise what the mux made
	// of it for one pod: ADD, UPDATE, REMOVE, RECONCILE, DELETE.
	Op SourceOp `json:"op"`
	// Pods is how many pods the source holds.
	Pods int `json:"pods,omitempty"`
	// Cause is what made the source look; left out for what the mux made of it.
	Cause SourceCause `json:"cause,omitempty"`
	// Path is the file it came from.
	Path string `json:"path,omitempty"`
}

// SourceError tells that a manifest could not be used. A pod that runs from an
// earlier good version of it continues. One without a message tells that all that was said
// of its path is over: the manifest is good again, or gone.
type SourceError struct {
	Source SourceName `json:"source"`
	Path   string     `json:"path,omitempty"`
	// Line is the line in the file, from 1; 0 when unknown.
	Line int `json:"line,omitempty"`
	// Field is the path of the field, as spec.containers[0].image.
	Field   string `json:"field,omitempty"`
	Message string `json:"message" scrub:"text"`
	// Kept says whether an earlier good version stays in use.
	Kept bool `json:"kept,omitempty"`
	// Gone says that the manifest was removed, where there is no message.
	Gone bool `json:"gone,omitempty"`
}

// Loop is one syncLoop iteration: from a ready channel to the end of its dispatch.
type Loop struct {
	// N numbers the iterations from 1.
	N uint64 `json:"n"`
	// Case is what was ready.
	Case LoopCase `json:"case"`
	// Op is what happened; left out for the case sync.
	Op LoopOp `json:"op,omitempty"`
	// Pods is how many pods it concerned.
	Pods int `json:"pods,omitempty"`
	// Detail names what happened, for people.
	Detail string `json:"detail,omitempty"`
	// Idle is how long the loop had been waiting before.
	Idle time.Duration `json:"idle_ns,omitempty"`
}

// Log is a line for people that no typed event covers.
type Log struct {
	Level   LogLevel `json:"level"`
	Message string   `json:"message" scrub:"text"`
	Attrs   []KV     `json:"attrs,omitempty" scrub:"text"`
	// Clipped is how many attributes were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// Pressure is how full one of the node's resources is.
type Pressure struct {
	Signal Signal `json:"signal"`
	// Used and Capacity are in bytes.
	Used     int64 `json:"used"`
	Capacity int64 `json:"capacity"`
	// Thresholds are the marks of the signal, and what happens there.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Clipped is how many thresholds were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// Threshold is a mark of a resource.
type Threshold struct {
	// Kind is what happens at the mark.
	Kind ThresholdKind `json:"kind"`
	// Percent is the mark in percent of the capacity, Bytes in bytes; one of them is set. They are of what is free for pressure, and of what
	// is used for image-gc.
	Percent float64 `json:"percent,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	// DownTo is the use, in percent of the capacity, at which image garbage collection stops.
	DownTo float64 `json:"down_to_percent,omitempty"`
}

// Used returns how much is used at the mark, in bytes. It returns false if the mark is a percentage of an unknown capacity, or is never
// reached.
func (t *Threshold) Used(capacity int64) (int64, bool) {
	bytes := t.Bytes
	if t.Percent > 0 {
		bytes = int64(t.Percent / 100 * float64(capacity))
	}
	if t.Kind == ThresholdPressure {
		return capacity - bytes, capacity > 0
	}
	return bytes, capacity > 0 && t.Percent < 100
}

// Decision is one verdict: what was considered, what became of it and why.
type Decision struct {
	// By is who decided.
	By Decider `json:"by"`
	// Subject is what was considered: an image, a container, a pod.
	Subject string  `json:"subject" scrub:"text"`
	Verdict Verdict `json:"verdict"`
	// Reason is one sentence that says why.
	Reason string `json:"reason" scrub:"text"`
	// Until is when it is decided anew, in Unix nanoseconds: the end of a back-off.
	Until int64 `json:"until_ns,omitempty"`
	// Tries is how many attempts failed before, Cause the error of the last.
	Tries int    `json:"tries,omitempty"`
	Cause string `json:"cause,omitempty" scrub:"text"`
	// ExitCode and Attempt are those of the container that ended, for restart; no code where it is not known.
	ExitCode *int32 `json:"exit_code,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	// Limit is the mark below which a signal is short, in bytes.
	Limit int64 `json:"limit,omitempty"`
	// Ground is why an image is removed.
	Ground RemovalGround `json:"ground,omitempty"`
	// Orphan is the UID of the pod that nobody knows, Path its directory, and Volume the name on disk of one that could not be torn down.
	Orphan string `json:"orphan,omitempty"`
	Path   string `json:"path,omitempty"`
	Volume string `json:"volume,omitempty"`
	// Inputs are further figures that the verdict rests on, for people.
	Inputs []KV `json:"inputs,omitempty" scrub:"text"`
	// Bytes is what the verdict freed or would have freed.
	Bytes int64 `json:"bytes,omitempty"`
	// Clipped is how many inputs were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// GC is one garbage collection pass.
type GC struct {
	What GCKind `json:"what"`
	// Cause is what started it.
	Cause GCCause `json:"cause,omitempty"`
	// Considered and Removed count candidates.
	Considered int `json:"considered,omitempty"`
	Removed    int `json:"removed,omitempty"`
	// Freed is in bytes.
	Freed int64 `json:"freed,omitempty"`
	// Usage is the file system's use in percent, where that is what drives the pass.
	Usage int    `json:"usage_percent,omitempty"`
	Err   string `json:"err,omitempty" scrub:"text"`
}

// NodeEvent is an event for people as Kubernetes knows it (Pulling, Started, BackOff).
type NodeEvent struct {
	Type EventType `json:"type"`
	// Reason is the CamelCase reason that tools match on.
	Reason  string `json:"reason"`
	Message string `json:"message" scrub:"text"`
	// Field is the field of the object, as spec.containers{web}.
	Field string `json:"field,omitempty"`
}

// Usage is what the agent took since the last such record, and how long the node's tasks stalled meanwhile. It is published every 10 s,
// and every second while pods start.
type Usage struct {
	// Interval is what the figures are about.
	Interval time.Duration `json:"interval_ns"`
	// CPU is the agent's own time on processors.
	CPU time.Duration `json:"cpu_ns"`
	// RunDelay is how long the agent's threads were runnable and had no processor.
	RunDelay time.Duration `json:"run_delay_ns,omitempty"`
	// RSS is the agent's resident memory in bytes.
	RSS int64 `json:"rss"`
	// Goroutines is how many the agent has.
	Goroutines int `json:"goroutines,omitempty"`
	// CPUs is how many processors the node has.
	CPUs int `json:"cpus,omitempty"`
	// Busy is how long all processors together were not idle.
	Busy time.Duration `json:"busy_ns,omitempty"`
	// Stalls are the kernel's pressure figures (PSI), where it has them.
	Stalls []Stall `json:"stalls,omitempty"`
	// Clipped is how many stalls were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// Stall is how long tasks of the node waited for one resource.
type Stall struct {
	Resource Resource `json:"resource"`
	// Some is how long at least one task waited for it, Full how long all did.
	Some time.Duration `json:"some_ns"`
	Full time.Duration `json:"full_ns,omitempty"`
}
