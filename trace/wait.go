package trace

import (
	"slices"
	"time"
)

// Wait is time in which nothing works for the pod. What it says is in its fields; package say puts it into words.
type Wait struct {
	// For is what sort of thing is waited for, Target what it is.
	For    WaitKind `json:"for"`
	Target Target   `json:"target,omitzero"`
	// More are further containers that are held back, where the target is one.
	More []Held `json:"more,omitempty"`
	// Reason is Kubernetes' word for why, as CrashLoopBackOff, ErrImagePull or NetworkPluginNotReady.
	Reason string `json:"reason,omitempty"`
	// Cause is the error because of which it is tried again, or because of which what is waited for is not there.
	Cause string `json:"cause,omitempty" scrub:"text"`
	// Class is what sort of failure Cause tells of.
	Class FailureClass `json:"class,omitempty"`
	// Plugin is the CNI plugin that is at fault, where Cause names one.
	Plugin string `json:"plugin,omitempty"`
	// Tries is how many attempts failed before.
	Tries int `json:"tries,omitempty"`
	// Until is when it ends by itself, in Unix nanoseconds; left out where that is not known.
	Until int64 `json:"until_ns,omitempty"`
	// Limit is the longest that it may last; left out where there is no limit.
	Limit time.Duration `json:"limit_ns,omitempty"`
	// Size is how many do at a time what is waited for. Busy is how many of these places were taken, Ahead how many waited
	// already.
	Size  int `json:"size,omitempty"`
	Busy  int `json:"busy,omitempty"`
	Ahead int `json:"ahead,omitempty"`
	// Large says that it is large work, of which one is done at a time, while others have no need of the places.
	Large bool `json:"large,omitempty"`
	// Every is how often a token bucket lets one through, Burst how many at once.
	Every time.Duration `json:"every_ns,omitempty"`
	Burst int           `json:"burst,omitempty"`
	// Doing is the operation that is under way, where the target is busy with another one: setup, teardown.
	Doing string `json:"doing,omitempty"`
	// Note says more, for people alone.
	Note string `json:"note,omitempty" scrub:"text"`
	// Behind are who had what is waited for: when the wait began, and in its end also who gave it away meanwhile
	// because they overstayed. The longest come first, at most 4.
	Behind []Holder `json:"behind,omitempty"`
	// Clipped is how many of these and of the containers were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// Held is a container that is held back.
type Held struct {
	Name string `json:"name"`
	// Reason is as that of [Wait].
	Reason string `json:"reason,omitempty"`
}

// Because reports whether one of the reasons is that of the wait, or of a further container's.
func (w *Wait) Because(reasons ...string) bool {
	return slices.Contains(reasons, w.Reason) || slices.ContainsFunc(w.More, func(h Held) bool { return slices.Contains(reasons, h.Reason) })
}

// WithCause returns the wait with the error because of which it is, and what sort of failure that is.
func (w Wait) WithCause(err string) Wait {
	w.Cause, w.Class, w.Plugin = err, Classify(err), PluginIn(err)
	return w
}

// Concerns reports whether the wait is that of the container.
func (w *Wait) Concerns(container string) bool {
	return w.Target.Kind == TargetContainer && (w.Target.Name == container || slices.ContainsFunc(w.More, func(h Held) bool { return h.Name == container }))
}

// Holder is who had what somebody waited for.
type Holder struct {
	Pod Pod `json:"pod,omitzero"`
	// Call is what it did, as sandbox, "setup kubernetes.io/nfs" or "pull registry.example.com".
	Call string `json:"call"`
	// For is how long that had taken.
	For time.Duration `json:"for_ns"`
	// Overstays says that it took clearly longer than such work usually takes, and gave its place away.
	Overstays bool `json:"overstays,omitempty"`
}

// WaitKind says what sort of thing is waited for.
type WaitKind string

// The kinds of wait.
const (
	WaitQueue       WaitKind = "queue"       // a turn at something that is done for a few at a time
	WaitBackoff     WaitKind = "backoff"     // a back-off to run out
	WaitTokens      WaitKind = "tokens"      // a token bucket (registryPullQPS, the client's limit)
	WaitLock        WaitKind = "lock"        // a lock somebody holds
	WaitOtherPull   WaitKind = "other-pull"  // another pod's pull of the same image, or of any when serialised
	WaitRuntime     WaitKind = "runtime"     // the runtime to do something on its own
	WaitProbe       WaitKind = "probe"       // a probe's delay or period
	WaitGate        WaitKind = "gate"        // a person who steps
	WaitInit        WaitKind = "init"        // an init container to finish
	WaitGrace       WaitKind = "grace"       // a container to end within its grace period
	WaitPod         WaitKind = "pod"         // an earlier pod of the same full name to be gone
	WaitAttach      WaitKind = "attach"      // a volume to be attached to the node
	WaitObject      WaitKind = "object"      // an object of the API server to be fetched
	WaitApproval    WaitKind = "approval"    // a certificate signing request to be approved
	WaitHook        WaitKind = "hook"        // a postStart or preStop handler to end
	WaitCredentials WaitKind = "credentials" // an exec credential provider to answer
	WaitPoll        WaitKind = "poll"        // the next look of something that only looks from time to time
)
