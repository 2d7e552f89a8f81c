package trace

import "time"

// KV is one named input of a decision.
type KV struct {
	K string `json:"k"`
	V string `json:"v"`
}

// Agent reports the state of the agent as a whole.
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

// Source reports what a pod source delivered.
type Source struct {
	Source SourceName `json:"source"`
	// Op is SET when the source delivered its whole set. Otherwise it is the change of one pod that the mux computed: ADD, UPDATE,
	// REMOVE, RECONCILE or DELETE.
	Op SourceOp `json:"op"`
	// Pods is the number of pods of the source.
	Pods int `json:"pods,omitempty"`
	// Cause is the reason why the source looked for changes; omitted for changes that the mux computed.
	Cause SourceCause `json:"cause,omitempty"`
	// Path is the file of the pod.
	Path string `json:"path,omitempty"`
}

// SourceError reports that a manifest cannot be used. A pod that runs from an earlier valid version continues. A SourceError
// without a message withdraws all earlier errors of the path: the manifest is valid again or was removed.
type SourceError struct {
	Source SourceName `json:"source"`
	Path   string     `json:"path,omitempty"`
	// Line is the line in the file, from 1; 0 when unknown.
	Line int `json:"line,omitempty"`
	// Field is the path of the field, such as spec.containers[0].image.
	Field   string `json:"field,omitempty"`
	Message string `json:"message" scrub:"text"`
	// Kept says whether an earlier valid version remains in use.
	Kept bool `json:"kept,omitempty"`
	// Gone says that the manifest was removed; only without a message.
	Gone bool `json:"gone,omitempty"`
}

// Loop is one syncLoop iteration, from a ready channel to the end of its dispatch.
type Loop struct {
	// N numbers the iterations from 1.
	N uint64 `json:"n"`
	// Case is the channel that was ready.
	Case LoopCase `json:"case"`
	// Op is what happened; omitted for the case sync.
	Op LoopOp `json:"op,omitempty"`
	// Pods is the number of pods that the iteration concerned.
	Pods int `json:"pods,omitempty"`
	// Detail describes what happened, for people.
	Detail string `json:"detail,omitempty"`
	// Idle is how long the loop had been idle before.
	Idle time.Duration `json:"idle_ns,omitempty"`
}

// Log is a line for people that no typed event covers.
type Log struct {
	Level   LogLevel `json:"level"`
	Message string   `json:"message" scrub:"text"`
	Attrs   []KV     `json:"attrs,omitempty" scrub:"text"`
	// Clipped is how many attributes were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// Pressure is the usage of one of the node's resources.
type Pressure struct {
	Signal Signal `json:"signal"`
	// Used and Capacity are in the signal's unit.
	Used     int64 `json:"used"`
	Capacity int64 `json:"capacity"`
	// Thresholds are the thresholds of the signal, and what happens there.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Clipped is how many thresholds were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// Threshold is a threshold of a resource.
type Threshold struct {
	// Kind is what happens at the threshold.
	Kind ThresholdKind `json:"kind"`
	// Percent is the threshold in percent of the capacity, Bytes in the signal's unit; one of them is set. For pressure, it is a
	// threshold of the free part; for image-gc, of the used part.
	Percent float64 `json:"percent,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	// DownTo is the usage, in percent of the capacity, at which image garbage collection stops.
	DownTo float64 `json:"down_to_percent,omitempty"`
	// After is how long there must be less than the threshold before pods are evicted; 0 for a hard one. Upstream:
	// evictionSoftGracePeriod.
	After time.Duration `json:"after_ns,omitempty"`
}

// Used returns how much is used at the threshold, in the signal's unit. It returns false if the threshold is a percentage of an
// unknown capacity, or is never reached.
func (e *Threshold) Used(capacity int64) (int64, bool) {
	bytes := e.Bytes
	if e.Percent > 0 {
		bytes = int64(e.Percent / 100 * float64(capacity))
	}
	if e.Kind == ThresholdPressure {
		return capacity - bytes, capacity > 0
	}
	return bytes, capacity > 0 && e.Percent < 100
}

// Eviction is a round of the eviction manager that found less of a resource than its threshold: what it saw, what it removed of the
// node's own, and how it ranked the pods. Of the rounds that find
// enough, one a minute is published while little more than a threshold is left.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, synchronize.
type Eviction struct {
	Signal Signal `json:"signal"`
	// Available and Capacity are in the signal's unit.
	Available int64 `json:"available"`
	Capacity  int64 `json:"capacity"`
	// Threshold is the one that was reached.
	Threshold Threshold `json:"threshold"`
	// Outcome is what the round did.
	Outcome EvictionOutcome `json:"outcome"`
	// Containers and Images are how many of them were removed, which no pod uses; Freed is what that freed, in bytes.
	Containers int   `json:"containers_removed,omitempty"`
	Images     int   `json:"images_removed,omitempty"`
	Freed      int64 `json:"freed,omitempty"`
	// Ranked are the pods in the order in which they would be evicted.
	Ranked []RankedPod `json:"ranked,omitempty"`
	// Clipped is how many pods were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
	// Evicted is the pod that is evicted, as namespace/name, and Grace its grace period, in seconds.
	Evicted string `json:"evicted,omitempty"`
	Grace   int64  `json:"grace_seconds,omitempty"`
	// Age is how old the figures were when the pod was chosen, in nanoseconds.
	Age time.Duration `json:"age_ns,omitempty"`
	// Err is why resources of the node could not be removed.
	Err string `json:"err,omitempty" scrub:"text"`
}

// RankedPod is a pod in the ranking of an eviction.
type RankedPod struct {
	// Pod is the namespace and name.
	Pod      string   `json:"pod"`
	QoS      QoSClass `json:"qos,omitempty"`
	Priority int32    `json:"priority,omitempty"`
	// Usage and Request are of the resource that is short, in the signal's unit. Requests of inodes and processes do not exist.
	Usage   int64 `json:"usage"`
	Request int64 `json:"request,omitempty"`
	// Unknown says that the pod's usage is not known: such pods are first.
	Unknown bool `json:"unknown,omitempty"`
	// Spared says that the pod is critical, and is never evicted.
	Spared bool `json:"spared,omitempty"`
}

// Decision is one decision: its subject, the verdict and the reason.
type Decision struct {
	// By is who decided.
	By Decider `json:"by"`
	// Subject is what was decided about: an image, a container, a pod.
	Subject string  `json:"subject" scrub:"text"`
	Verdict Verdict `json:"verdict"`
	// Reason is one sentence with the reason.
	Reason string `json:"reason" scrub:"text"`
	// Code is Kubernetes' reason for a pod that is rejected or ended, such as OutOfcpu, NodeAffinity, Evicted or DeadlineExceeded.
	Code string `json:"code,omitempty"`
	// Until is when it is decided again, in Unix nanoseconds: the end of a back-off.
	Until int64 `json:"until_ns,omitempty"`
	// Tries is the number of earlier attempts that failed, Cause the error of the last one.
	Tries int    `json:"tries,omitempty"`
	Cause string `json:"cause,omitempty" scrub:"text"`
	// ExitCode and Attempt are those of the container that exited, for restart. An unknown exit code is omitted.
	ExitCode *int32 `json:"exit_code,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	// Limit is the threshold below which the node reports pressure, or the limit that an evicted pod exceeds, in the signal's unit.
	// Signal is that of a verdict on pressure or eviction: an eviction signal, or the kind of a limit of local storage.
	Limit  int64  `json:"limit,omitempty"`
	Signal Signal `json:"signal,omitempty"`
	// Measured is how the usage of the volume is known that exceeds its limit.
	Measured UsageSource `json:"measured,omitempty"`
	// Ground is why an image is removed.
	Ground RemovalGround `json:"ground,omitempty"`
	// Orphan is the UID of the unknown pod, Path its directory, and Volume the name on disk of a volume that could not be torn
	// down, or whose health has changed.
	Orphan string `json:"orphan,omitempty"`
	Path   string `json:"path,omitempty"`
	Volume string `json:"volume,omitempty"`
	// Inputs are further figures that the verdict depends on, for people.
	Inputs []KV `json:"inputs,omitempty" scrub:"text"`
	// Bytes is what the verdict freed or would have freed.
	Bytes int64 `json:"bytes,omitempty"`
	// Clipped is how many inputs were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// GC is one garbage collection run.
type GC struct {
	What GCKind `json:"what"`
	// Cause is what started it.
	Cause GCCause `json:"cause,omitempty"`
	// Considered and Removed count candidates.
	Considered int `json:"considered,omitempty"`
	Removed    int `json:"removed,omitempty"`
	// Freed is in bytes.
	Freed int64 `json:"freed,omitempty"`
	// Usage is the usage of the file system in percent, if the run depends on it.
	Usage int    `json:"usage_percent,omitempty"`
	Err   string `json:"err,omitempty" scrub:"text"`
}

// NodeEvent is a Kubernetes Event (Pulling, Started, BackOff).
type NodeEvent struct {
	Type EventType `json:"type"`
	// Reason is the reason in CamelCase, which other programs read.
	Reason  string `json:"reason"`
	Message string `json:"message" scrub:"text"`
	// Field is the field of the object, such as spec.containers{web}.
	Field string `json:"field,omitempty"`
	// Object is the object of an Event about another object than the pod or the node, such as persistentvolumeclaim/data.
	Object string `json:"object,omitempty"`
	// Volume is the volume whose attachment or mount failed, and Class the class of that failure, if the message says so.
	Volume string       `json:"volume,omitempty"`
	Class  FailureClass `json:"class,omitempty"`
}

// Usage is the resource usage of the agent since the last such record, and how long the node's tasks stalled in that time. It is
// published every 10 s, and every second until a pod that starts is ready, for up to 10 minutes each.
type Usage struct {
	// Interval is the time that the figures cover.
	Interval time.Duration `json:"interval_ns"`
	// Late is how much later than due the agent read the figures: until then, it did not run. It was stopped (SIGSTOP) or frozen, or got no
	// CPU (see RunDelay). Omitted below one second, and if the figures are of another process.
	Late time.Duration `json:"late_ns,omitempty"`
	// CPU is the CPU time of the agent.
	CPU time.Duration `json:"cpu_ns"`
	// RunDelay is how long the agent's threads were runnable but waited for a CPU.
	RunDelay time.Duration `json:"run_delay_ns,omitempty"`
	// RSS is the agent's resident memory in bytes.
	RSS int64 `json:"rss"`
	// Goroutines is the number of the agent's goroutines.
	Goroutines int `json:"goroutines,omitempty"`
	// CPUs is the number of the node's CPUs.
	CPUs int `json:"cpus,omitempty"`
	// Busy is the time in which the CPUs were not idle, added up over all CPUs.
	Busy time.Duration `json:"busy_ns,omitempty"`
	// Stalls are the kernel's pressure figures (PSI), if it has them.
	Stalls []Stall `json:"stalls,omitempty"`
	// Memory is the node's memory; nil if it is not known.
	Memory *Memory `json:"memory,omitempty"`
	// Clipped is how many stalls were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// Memory is how much memory the node has, in bytes, at the end of an interval.
type Memory struct {
	Total int64 `json:"total"`
	// Available is the memory for new programs, without swapping (MemAvailable).
	Available int64 `json:"available"`
	// Reclaims is how often in the interval a task had to reclaim memory of the node before it got some. Reclaims of cgroups that are at
	// their own limit do not count.
	Reclaims int64 `json:"reclaims,omitempty"`
}

// Stall is how long tasks of the node waited for one resource.
type Stall struct {
	Resource Resource `json:"resource"`
	// Some is how long at least one task waited for it, Full how long all tasks waited.
	Some time.Duration `json:"some_ns"`
	Full time.Duration `json:"full_ns,omitempty"`
}
