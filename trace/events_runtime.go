package trace

import "time"

// CRICall is one call to the container runtime.
type CRICall struct {
	// Method is the RPC's name, as RunPodSandbox.
	Method string `json:"method"`
	// Sandbox, Container and Image are the ids it concerns, filled in as they become known.
	Sandbox   string `json:"sandbox,omitempty"`
	Container string `json:"container,omitempty"`
	Image     string `json:"image,omitempty"`
	// Code is the gRPC code's name, set at the end: OK, NotFound, ...
	Code string `json:"code,omitempty"`
	Err  string `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
	// Plugin is the CNI plugin that is at fault, where Err names one.
	Plugin string `json:"plugin,omitempty"`
	// Items is how many items a list call returned.
	Items int `json:"items,omitempty"`
	// Request and Response are kept for inspection, with secrets redacted. Large lists are left out.
	Request  Body `json:"request,omitzero"`
	Response Body `json:"response,omitzero"`
}

// PLEGRelist is one pass over all sandboxes and containers.
type PLEGRelist struct {
	// Cause is what made the PLEG look.
	Cause      RelistCause `json:"cause"`
	Sandboxes  int         `json:"sandboxes,omitempty"`
	Containers int         `json:"containers,omitempty"`
	// Events is how many lifecycle events it found that the stream had not told.
	Events int    `json:"events,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
}

// PLEGEvent is one pod lifecycle event.
type PLEGEvent struct {
	// Type is what happened.
	Type      PLEGType `json:"type"`
	Container string   `json:"container,omitempty"`
	Name      string   `json:"name,omitempty"`
	Sandbox   string   `json:"sandbox,omitempty"`
	// From is how the agent learned of it.
	From PLEGFrom `json:"from"`
	// Lag is how long after the runtime made the event it arrived, in nanoseconds.
	Lag int64 `json:"lag_ns,omitempty"`
}

// PLEGMode tells how the agent learns of changes.
type PLEGMode struct {
	// Mode is how the agent learns of changes.
	Mode   PLEGFrom `json:"mode"`
	Reason string   `json:"reason,omitempty" scrub:"text"`
}

// ImagePull is one pull of an image from its registry.
type ImagePull struct {
	Image string `json:"image"`
	// Ref is the image's id once pulled.
	Ref string `json:"ref,omitempty"`
	// Bytes is the image's size once pulled.
	Bytes int64 `json:"bytes,omitempty"`
	// Shared says that another pod's pull of the same image served this one.
	Shared bool   `json:"shared,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
}

// ImageProgress is how far a pull has come.
type ImageProgress struct {
	Image string `json:"image"`
	// Done and Total are in bytes; Total is 0 while unknown.
	Done  int64 `json:"done"`
	Total int64 `json:"total,omitempty"`
	// Source is how it is known. A pull whose progress cannot be followed has none.
	Source ProgressSource `json:"source,omitempty"`
}

// Volume is one operation on a volume.
type Volume struct {
	// Op is what is done.
	Op VolumeOp `json:"op"`
	// Name is the volume's name in the pod.
	Name string `json:"name"`
	// Plugin is as kubernetes.io/empty-dir.
	Plugin string `json:"plugin"`
	Path   string `json:"path,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
}

// CgroupOp is one operation on a pod's or tier's cgroup.
type CgroupOp struct {
	// Op is what is done.
	Op CgroupAction `json:"op"`
	// Path is relative to the cgroup mount, as /kubepods/burstable/pod<uid>.
	Path string `json:"path"`
	// Killed is how many leftover processes had to be killed.
	Killed int    `json:"killed,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
}

// RuntimeSpan is a span that the runtime itself told (OpenTelemetry), published when it arrived, which is some time after it ended.
// The record's Span and Parent are the span's own: the one at the top of a tree has the CRI call as its parent.
type RuntimeSpan struct {
	// Name is what the runtime calls it.
	Name string `json:"name" scrub:"text"`
	// Service is who told it, as containerd.
	Service string `json:"service,omitempty" scrub:"text"`
	// Start is in Unix nanoseconds, by the runtime's clock, which is the node's.
	Start int64 `json:"start_ns"`
	// Dur is how long it took.
	Dur   time.Duration `json:"dur_ns"`
	Err   string        `json:"err,omitempty" scrub:"text"`
	Attrs []KV          `json:"attrs,omitempty" scrub:"names and text"`
	// Clipped is how many attributes were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}
