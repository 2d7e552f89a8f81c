package trace

import (
	"slices"
	"time"
)

// Wait is a time in which a pod waits. Package say renders its fields as text.
//
// Many fields: one kind of event has what all kinds of waits need, and most have few of them.
type Wait struct {
	// For is the kind of the wait, Target what the pod waits for.
	For    WaitKind `json:"for"`
	Target Target   `json:"target,omitzero"`
	// Request is the object of the API server that a request is for, if the request waits and its object is known: a ConfigMap, a Secret, a
	// claim, or the service account of a token.
	Request Target `json:"request,omitzero"`
	// More are further containers that wait too, if the target is a container.
	More []Held `json:"more,omitempty"`
	// Reason is Kubernetes' reason for the wait, such as CrashLoopBackOff, ErrImagePull or NetworkPluginNotReady.
	Reason string `json:"reason,omitempty"`
	// Cause is the error that led to the retry, or the error because of which the target is missing.
	Cause string `json:"cause,omitempty" scrub:"text"`
	// Class is the class of the failure in Cause.
	Class FailureClass `json:"class,omitempty"`
	// Plugin is the CNI plugin that failed, if Cause names one.
	Plugin string `json:"plugin,omitempty"`
	// Tries is the number of earlier attempts that failed.
	Tries int `json:"tries,omitempty"`
	// Until is when the wait ends by itself, in Unix nanoseconds; omitted if unknown.
	Until int64 `json:"until_ns,omitempty"`
	// Limit is the longest duration of the wait; omitted if there is no limit.
	Limit time.Duration `json:"limit_ns,omitempty"`
	// Size is the number of slots. Busy is the number of slots in use, Ahead the number of earlier waiters.
	Size  int `json:"size,omitempty"`
	Busy  int `json:"busy,omitempty"`
	Ahead int `json:"ahead,omitempty"`
	// Shared says that the wait is for the answer to a request that another pod has made.
	Shared bool `json:"shared,omitempty"`
	// Large says that the work is large. One such work is done at a time, when no other work needs the slots.
	Large bool `json:"large,omitempty"`
	// Every is the interval of a token bucket, Burst its size.
	Every time.Duration `json:"every_ns,omitempty"`
	Burst int           `json:"burst,omitempty"`
	// Doing is the operation in progress, if the target is busy with another one: setup, teardown.
	Doing string `json:"doing,omitempty"`
	// Note is a further text, for people only.
	Note string `json:"note,omitempty" scrub:"text"`
	// Behind are the holders of what the pod waits for, at most 4, the longest first: those when the wait began, and in the end
	// record also those that released it meanwhile because they took too long.
	Behind []Holder `json:"behind,omitempty"`
	// Clipped is how many of these and of the containers were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// Held is a container that waits.
type Held struct {
	Name string `json:"name"`
	// Reason is the same as that of [Wait].
	Reason string `json:"reason,omitempty"`
}

// Because reports whether one of the reasons is the wait's, or that of a further container.
func (w *Wait) Because(reasons ...string) bool {
	return slices.Contains(reasons, w.Reason) || slices.ContainsFunc(w.More, func(h Held) bool { return slices.Contains(reasons, h.Reason) })
}

// WithCause returns the wait with its cause and the class of that.
func (w Wait) WithCause(err string) Wait {
	w.Cause, w.Class, w.Plugin = err, Classify(err), PluginIn(err)
	return w
}

// Concerns reports whether the wait is the container's.
func (w *Wait) Concerns(container string) bool {
	return w.Target.Kind == TargetContainer && (w.Target.Name == container || slices.ContainsFunc(w.More, func(h Held) bool { return h.Name == container }))
}

// Holder is a pod that had what another one waited for.
type Holder struct {
	Pod Pod `json:"pod,omitzero"`
	// Call is its operation, such as sandbox, "setup kubernetes.io/nfs" or "pull registry.example.com".
	Call string `json:"call"`
	// For is how long the operation had taken.
	For time.Duration `json:"for_ns"`
	// Overstays says that the operation took clearly longer than usual and released its slot.
	Overstays bool `json:"overstays,omitempty"`
}

// WaitKind is the kind of a wait.
type WaitKind string

// The kinds of wait.
const (
	WaitQueue       WaitKind = "queue"       // a slot for an operation with limited concurrency
	WaitBackoff     WaitKind = "backoff"     // the end of a back-off
	WaitTokens      WaitKind = "tokens"      // a token bucket (registryPullQPS, the client's limit)
	WaitLock        WaitKind = "lock"        // a lock to be released
	WaitOtherPull   WaitKind = "other-pull"  // another pod's pull of the same image, or of any image if pulls are serialized
	WaitRuntime     WaitKind = "runtime"     // an action of the container runtime
	WaitProbe       WaitKind = "probe"       // a probe's delay or period
	WaitGate        WaitKind = "gate"        // the user of a step session
	WaitInit        WaitKind = "init"        // an init container to exit
	WaitGrace       WaitKind = "grace"       // a container to end within its grace period
	WaitPod         WaitKind = "pod"         // an earlier pod with the same full name to be gone
	WaitAttach      WaitKind = "attach"      // a volume to be attached to the node
	WaitLabel       WaitKind = "selinux"     // a volume that another pod has with another SELinux label
	WaitObject      WaitKind = "object"      // an object of the API server to be fetched
	WaitApproval    WaitKind = "approval"    // a certificate signing request to be approved
	WaitHook        WaitKind = "hook"        // a postStart or preStop handler to finish
	WaitCredentials WaitKind = "credentials" // an exec credential provider to respond
	WaitDevices     WaitKind = "devices"     // a device plugin to allocate or prepare devices
	WaitClaims      WaitKind = "claims"      // a DRA driver to prepare the pod's ResourceClaims, or a ResourceClaim to be usable
	WaitPoll        WaitKind = "poll"        // the next poll of a component that polls periodically
)
