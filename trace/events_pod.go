package trace

import "time"

// Milestone is a point in a pod's life from which durations are measured.
type Milestone struct {
	Name MilestoneName `json:"name"`
	// Source is where the pod came from, for seen.
	Source SourceName `json:"source,omitempty"`
	// Since is the time since seen (or since terminating, for gone).
	Since time.Duration `json:"since_ns,omitempty"`
	// Adopted says that the agent found the containers running. With terminating: it ended them at once, as no source had the pod.
	Adopted bool `json:"adopted,omitempty"`
	// Final says, for started, that the observer cannot see whether the pod becomes ready.
	Final bool `json:"final,omitempty"`
	// Created is when the pod's object was created in the API, for seen; omitted for other pods, and if an agent has started the pod before. It
	// is a whole second.
	Created time.Time `json:"created,omitzero"`
	// Spec describes the pod, for seen.
	Spec *PodSpec `json:"spec,omitempty"`
	// Labels are the pod's labels, for seen: at most 4 KiB; omitted if they are unknown.
	Labels *Labels `json:"labels,omitempty"`
}

// PodSpec is the part of a pod's spec that views show.
type PodSpec struct {
	Containers     []ContainerSpec `json:"containers,omitempty"`
	InitContainers []ContainerSpec `json:"init_containers,omitempty"`
	RestartPolicy  RestartPolicy   `json:"restart_policy,omitempty"`
	QoS            QoSClass        `json:"qos,omitempty"`
	Volumes        []string        `json:"volumes,omitempty"`
	HostNetwork    bool            `json:"host_network,omitempty"`
	// UserNamespace says that the pod has a user namespace of its own (hostUsers: false).
	UserNamespace bool `json:"user_namespace,omitempty"`
	// Stateful says that a volume is something else than a Secret, a ConfigMap, a downwardAPI, a projected or an emptyDir volume. Upstream:
	// pkg/kubelet/util/pod_startup_latency_tracker.go, isStatefulPod.
	Stateful bool `json:"stateful,omitempty"`
	// MemoryLimit is the memory limit of the whole pod in bytes; omitted if it has none or if that is not known.
	MemoryLimit int64 `json:"memory_limit,omitempty"`
	// Grace is the grace period in seconds with which the pod terminates; omitted if it was not known.
	Grace int64 `json:"grace_s,omitempty"`
	// Finalizers keep the pod's object after its end: their names, with commas between.
	Finalizers string `json:"finalizers,omitempty"`
	// ReadinessGates is how many conditions of others the pod needs to be ready.
	ReadinessGates int `json:"readiness_gates,omitempty"`
	// Objects are the objects of the API server that the pod refers to, at most 2 KiB; omitted if they are unknown.
	Objects []Object `json:"objects,omitempty"`
	// Clipped is how many containers and objects were omitted because of the limits.
	Clipped int `json:"clipped,omitempty"`
}

// Object is an object of the API server in the namespace of the pod that refers to it: a ConfigMap, a Secret, a claim, or the service account
// of which the pod gets a token.
type Object struct {
	Kind TargetKind `json:"kind"`
	Name string     `json:"name"`
}

// ContainerSpec is the part of a container's spec that views show.
type ContainerSpec struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// Sidecar says that an init container is restarted always: the next container does not wait for its end.
	Sidecar bool `json:"sidecar,omitempty"`
	// MemoryLimit is the container's memory limit in bytes; omitted if it has none or if that is not known.
	MemoryLimit int64 `json:"memory_limit,omitempty"`
	// Probes are the container's probes.
	Probes []ProbeSpec `json:"probes,omitempty"`
	// Clipped is how many probes were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// ProbeSpec is the configuration of a container's probe.
type ProbeSpec struct {
	Probe ProbeKind `json:"probe"`
	How   ProbeHow  `json:"how"`
	// Delay is the time from the container's start to the first attempt, Period the time from one attempt to the next, Timeout how
	// long an attempt can take.
	Delay   time.Duration `json:"delay_ns,omitempty"`
	Period  time.Duration `json:"period_ns,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// Success and Failure are how many attempts in a row change the probe's state.
	Success int `json:"success,omitempty"`
	Failure int `json:"failure,omitempty"`
}

// Worker is a state change of a pod worker.
type Worker struct {
	From WorkerState `json:"from"`
	To   WorkerState `json:"to"`
	// Reason is the reason of the change.
	Reason string `json:"reason,omitempty" scrub:"text"`
	// Grace is the grace period in seconds, for terminating.
	Grace int64 `json:"grace_s,omitempty"`
}

// Sync is one sync of a pod by its worker.
type Sync struct {
	// Why is the purpose of the sync.
	Why SyncWhy `json:"why"`
	// Cause is what requested it: ADD, UPDATE, a PLEG event, the end of a back-off.
	Cause string `json:"cause,omitempty" scrub:"text"`
	// N numbers the syncs of this worker from 1.
	N int `json:"n"`
	// Merged is the number of further requests that this sync serves.
	Merged int    `json:"merged,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
}

// Plan is a pod's plan: a graph of actions that a pure function computed.
type Plan struct {
	Steps []PlanStep `json:"steps"`
	// Why is the reason for the plan.
	Why string `json:"why,omitempty" scrub:"text"`
	// Clipped is how many steps were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// PlanStep is one action of a plan.
type PlanStep struct {
	// ID is the step's name within its plan, for example "create web".
	ID string `json:"id"`
	// Verb is the kind of action.
	Verb Verb `json:"verb"`
	// Needs names the steps that must be done before.
	Needs []string `json:"needs,omitempty"`
	// Reason is the reason of the step.
	Reason string `json:"reason,omitempty" scrub:"text"`
}

// Action is the execution of one step of a plan.
type Action struct {
	// ID is the step's name within its plan.
	ID string `json:"id"`
	// Verb is the kind of action.
	Verb      Verb   `json:"verb"`
	Container string `json:"container,omitempty"`
	// Ephemeral says that the container is an ephemeral one.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Target is the ID or image that the action is about, if known.
	Target string `json:"target,omitempty"`
	// Replaces says what is wrong with the sandbox that this one replaces; omitted for a first sandbox.
	Replaces SandboxFault `json:"replaces,omitempty"`
	// Policy is the pull policy of an image.
	Policy PullPolicy `json:"policy,omitempty"`
	Reason string     `json:"reason,omitempty" scrub:"text"`
	Err    string     `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
	// Missing is the object that Err names as missing.
	Missing *Missing `json:"missing,omitempty"`
	// Code is Kubernetes' reason for a failed step of a container, such as ErrImagePull or CreateContainerConfigError.
	Code string `json:"code,omitempty"`
}

// Gate is a command of a step client for an action that is paused.
type Gate struct {
	// Action is the step's id.
	Action string `json:"action"`
	// When is the point of the action where the pod was paused; omitted for the point before the action.
	When GateWhen `json:"when,omitempty"`
	// Call is the CRI method, for call.
	Call    string      `json:"call,omitempty"`
	Verdict GateVerdict `json:"verdict"`
	// Code is the gRPC code of a fail, such as Unavailable.
	Code string `json:"code,omitempty"`
	// Delay is the duration of a delay.
	Delay time.Duration `json:"delay_ns,omitempty"`
}

// PodStatus is a pod's status after a change.
type PodStatus struct {
	Phase  PodPhase `json:"phase"`
	Reason string   `json:"reason,omitempty"`
	// Message is a further text, for people.
	Message    string            `json:"message,omitempty" scrub:"text"`
	Ready      int               `json:"ready"`
	Total      int               `json:"total"`
	Restarts   int               `json:"restarts,omitempty"`
	IP         string            `json:"ip,omitempty"`
	SandboxID  string            `json:"sandbox_id,omitempty"`
	Containers []ContainerStatus `json:"containers,omitempty"`
	// Clipped is how many containers were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// ContainerStatus is one container's state within PodStatus.
type ContainerStatus struct {
	Name string `json:"name"`
	Init bool   `json:"init,omitempty"`
	// Ephemeral says that it is an ephemeral container.
	Ephemeral bool           `json:"ephemeral,omitempty"`
	State     ContainerState `json:"state"`
	// Reason is Kubernetes' reason: ImagePullBackOff, CrashLoopBackOff, Completed, ...
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty" scrub:"text"`
	// Class is the class of the failure in Message, for a container that waits or could not be started.
	Class    FailureClass `json:"class,omitempty"`
	ID       string       `json:"id,omitempty"`
	ExitCode int32        `json:"exit_code,omitempty"`
	Restarts int          `json:"restarts,omitempty"`
	// Started and Finished are when it started and exited; omitted if it has not, or if that is not known. They are whole seconds.
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Last describes the container's exit before this state, as Kubernetes' lastState does; omitted if there is none.
	Last *ContainerExit `json:"last,omitempty"`
}

// ContainerExit is how a container exited.
type ContainerExit struct {
	// Reason is Kubernetes' reason: OOMKilled, StartError, Completed, Error, ...
	Reason string `json:"reason,omitempty"`
	// Message is the runtime's, of a container that could not be started. What a container says when it ends is not in a last exit: it can
	// have secrets.
	Message string `json:"message,omitempty" scrub:"text"`
	// Class is the class of the failure in Message.
	Class    FailureClass `json:"class,omitempty"`
	ID       string       `json:"id,omitempty"`
	ExitCode int32        `json:"exit_code"`
	Started  time.Time    `json:"started,omitzero"`
	Finished time.Time    `json:"finished,omitzero"`
}
