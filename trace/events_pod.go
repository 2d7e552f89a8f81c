package trace

import "time"

// Milestone is a point in a pod's life from which durations are measured.
type Milestone struct {
	Name MilestoneName `json:"name"`
	// Source is where the pod came from, for seen.
	Source SourceName `json:"source,omitempty"`
	// Since is the time since seen (or since terminating, for gone).
	Since time.Duration `json:"since_ns,omitempty"`
	// Adopted says that its containers were found running.
	Adopted bool `json:"adopted,omitempty"`
	// Spec describes the pod, for seen.
	Spec *PodSpec `json:"spec,omitempty"`
}

// PodSpec is the part of a pod's spec that views show.
type PodSpec struct {
	Containers     []ContainerSpec `json:"containers,omitempty"`
	InitContainers []ContainerSpec `json:"init_containers,omitempty"`
	RestartPolicy  RestartPolicy   `json:"restart_policy,omitempty"`
	QoS            QoSClass        `json:"qos,omitempty"`
	Volumes        []string        `json:"volumes,omitempty"`
	HostNetwork    bool            `json:"host_network,omitempty"`
	// Clipped is how many containers were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// ContainerSpec is the part of a container's spec that views show.
type ContainerSpec struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// Worker is a pod worker changing state.
type Worker struct {
	From WorkerState `json:"from"`
	To   WorkerState `json:"to"`
	// Reason says what moved it.
	Reason string `json:"reason,omitempty" scrub:"text"`
	// Grace is the grace period in seconds, for terminating.
	Grace int64 `json:"grace_s,omitempty"`
}

// Sync is one pass of a pod worker over its pod.
type Sync struct {
	// Why is what the pass is for.
	Why SyncWhy `json:"why"`
	// Cause is what asked for it: ADD, UPDATE, a PLEG event, a back-off that ran out.
	Cause string `json:"cause,omitempty" scrub:"text"`
	// N numbers the passes of this worker from 1.
	N int `json:"n"`
	// Merged is how many further requests this pass answers.
	Merged int    `json:"merged,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
}

// Plan is what a pure function decided to do for a pod, as a graph.
type Plan struct {
	Steps []PlanStep `json:"steps"`
	// Why says what was found that led here.
	Why string `json:"why,omitempty" scrub:"text"`
	// Clipped is how many steps were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// PlanStep is one action of a plan.
type PlanStep struct {
	// ID names the step within its plan, as "create web".
	ID string `json:"id"`
	// Verb is the kind of action.
	Verb Verb `json:"verb"`
	// Needs names the steps that must be done before.
	Needs []string `json:"needs,omitempty"`
	// Reason says why it is in the plan.
	Reason string `json:"reason,omitempty" scrub:"text"`
}

// Action is one step of a plan being carried out.
type Action struct {
	// ID is the step's name within its plan.
	ID string `json:"id"`
	// Verb is the kind of action.
	Verb      Verb   `json:"verb"`
	Container string `json:"container,omitempty"`
	// Target is the id or image it acts on, when known.
	Target string `json:"target,omitempty"`
	// Replaces says what is wrong with the sandbox that this one replaces; left out for a first one.
	Replaces SandboxFault `json:"replaces,omitempty"`
	Reason   string       `json:"reason,omitempty" scrub:"text"`
	Err      string       `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
	// Code is Kubernetes' word for how a container's step failed, as ErrImagePull or CreateContainerConfigError.
	Code string `json:"code,omitempty"`
}

// Gate is what a stepping client told the gate where an action of the pod waited.
type Gate struct {
	// Action is the step's id.
	Action string `json:"action"`
	// When is where in the action the pod stood; left out for before it.
	When GateWhen `json:"when,omitempty"`
	// Call is the CRI method, for call.
	Call    string      `json:"call,omitempty"`
	Verdict GateVerdict `json:"verdict"`
	// Code is the gRPC code of a fail, as Unavailable.
	Code string `json:"code,omitempty"`
	// Delay is how long a delay is.
	Delay time.Duration `json:"delay_ns,omitempty"`
}

// PodStatus is a pod's status after it changed.
type PodStatus struct {
	Phase  PodPhase `json:"phase"`
	Reason string   `json:"reason,omitempty"`
	// Message says more, for people.
	Message    string            `json:"message,omitempty" scrub:"text"`
	Ready      int               `json:"ready"`
	Total      int               `json:"total"`
	Restarts   int               `json:"restarts,omitempty"`
	IP         string            `json:"ip,omitempty"`
	SandboxID  string            `json:"sandbox_id,omitempty"`
	Containers []ContainerStatus `json:"containers,omitempty"`
	// Clipped is how many containers were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// ContainerStatus is one container's state within PodStatus.
type ContainerStatus struct {
	Name  string         `json:"name"`
	Init  bool           `json:"init,omitempty"`
	State ContainerState `json:"state"`
	// Reason is what users know: ImagePullBackOff, CrashLoopBackOff, Completed, ...
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty" scrub:"text"`
	ID       string `json:"id,omitempty"`
	ExitCode int32  `json:"exit_code,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
}
