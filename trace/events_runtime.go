package trace

import (
	"strings"
	"time"
)

// CRICall is one call to the container runtime.
type CRICall struct {
	// Method is the RPC's name, such as RunPodSandbox.
	Method string `json:"method"`
	// Sandbox, Container and Image are the ids that the call concerns, set when they are known.
	Sandbox   string `json:"sandbox,omitempty"`
	Container string `json:"container,omitempty"`
	Image     string `json:"image,omitempty"`
	// Handler is the runtime handler of a sandbox that is created; empty for the default one.
	Handler string `json:"handler,omitempty"`
	// ImageVolumes is how many mounts of images a container has that is created.
	ImageVolumes int `json:"image_volumes,omitempty"`
	// Code is the gRPC code's name, set at the end: OK, NotFound, ...
	Code string `json:"code,omitempty"`
	Err  string `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
	// Plugin is the CNI plugin that failed, if Err names one.
	Plugin string `json:"plugin,omitempty"`
	// Items is the number of items that a list call returned.
	Items int `json:"items,omitempty"`
	// Request and Response are kept for inspection, with secrets redacted. Large lists are omitted.
	Request  Body `json:"request,omitzero"`
	Response Body `json:"response,omitzero"`
}

// PLEGRelist is one listing of all sandboxes and containers.
type PLEGRelist struct {
	// Cause is the reason of the relist.
	Cause      RelistCause `json:"cause"`
	Sandboxes  int         `json:"sandboxes,omitempty"`
	Containers int         `json:"containers,omitempty"`
	// Events is the number of lifecycle events that the relist found and the event stream had not delivered.
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
	// Lag is the time from when the runtime created the event until it arrived, in nanoseconds.
	Lag int64 `json:"lag_ns,omitempty"`
}

// PLEGMode reports how the agent learns of changes.
type PLEGMode struct {
	// Mode is how the agent learns of changes.
	Mode   PLEGFrom `json:"mode"`
	Reason string   `json:"reason,omitempty" scrub:"text"`
}

// OOMKill reports that the kernel killed a process of a container because it ran out of memory, mostly at the
// container's limit.
type OOMKill struct {
	// Container is the container's id, Name its name in the pod; empty where the observer does not know them.
	Container string `json:"container,omitempty"`
	Name      string `json:"name,omitempty"`
	// Cgroup is the path of the cgroup, relative to the cgroup mount, if the observer knows it.
	Cgroup string `json:"cgroup,omitempty"`
	// Kills is the number of processes that were killed since the observer's last report; 0 where it does not count them.
	Kills int `json:"kills,omitempty"`
	// Process is the name of the killed process as the kernel log writes it (at most 15 bytes; a control character is \x0a or similar), PID
	// its id on the node. Only the kernel log has them.
	Process string `json:"process,omitempty" scrub:"text"`
	PID     int    `json:"pid,omitempty"`
	// RSS is the anonymous memory that the process used, in bytes.
	RSS int64 `json:"anon_rss,omitempty"`
	// Constraint is what had no more memory, if the observer knows it.
	Constraint OOMConstraint `json:"constraint,omitempty"`
	// Limited is the cgroup whose limit was reached: the container's, the pod's or one above it. / is the whole node.
	Limited string `json:"limited,omitempty"`
}

// ImagePull is one pull of an image from its registry.
type ImagePull struct {
	Image string `json:"image"`
	// Ref is the image's id once pulled.
	Ref string `json:"ref,omitempty"`
	// Bytes is the image's size once pulled.
	Bytes int64 `json:"bytes,omitempty"`
	// Shared says that a pull for another pod fetched the image for this one too.
	Shared bool   `json:"shared,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
}

// ImageProgress is the progress of a pull.
type ImageProgress struct {
	Image string `json:"image"`
	// Done and Total are in bytes; Total is 0 while unknown.
	Done  int64 `json:"done"`
	Total int64 `json:"total,omitempty"`
	// Source is where the progress comes from. A pull whose progress is unknown has none.
	Source ProgressSource `json:"source,omitempty"`
}

// Volume is one operation on a volume.
type Volume struct {
	// Op is the operation.
	Op VolumeOp `json:"op"`
	// Name is the volume's name in the pod.
	Name string `json:"name"`
	// Plugin is the plugin's name, such as kubernetes.io/empty-dir.
	Plugin string `json:"plugin"`
	// Driver is the CSI driver of the volume; empty if there is none, or the agent does not know it.
	Driver string `json:"driver,omitempty"`
	// Block is set for a volume that containers get as a device.
	Block bool `json:"block,omitempty"`
	// Migrated is set for a volume of a type that a CSI driver has now.
	Migrated bool `json:"migrated,omitempty"`
	// Attaching is the wait until the volume was attached, Owning the change of the group of all files, Unstaging the unmount of what all pods of
	// the node share, after the last of them. They are parts of the operation, set at its end, and omitted if it did not have them.
	Attaching VolumePart `json:"attaching,omitzero"`
	Owning    VolumePart `json:"owning,omitzero"`
	Unstaging VolumePart `json:"unstaging,omitzero"`
	Path      string     `json:"path,omitempty"`
	Err       string     `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
	// Missing is the object that Err names as missing.
	Missing *Missing `json:"missing,omitempty"`
}

// VolumePart is a part of an operation on a volume.
type VolumePart struct {
	Took   time.Duration `json:"took_ns"`
	Failed bool          `json:"failed,omitempty"`
}

// CgroupOp is one operation on the cgroup of a pod or of a QoS class.
type CgroupOp struct {
	// Op is the operation.
	Op CgroupAction `json:"op"`
	// Path is relative to the cgroup mount, such as /kubepods/burstable/pod<uid>.
	Path string `json:"path"`
	// Killed is the number of leftover processes that had to be killed.
	Killed int    `json:"killed,omitempty"`
	Err    string `json:"err,omitempty" scrub:"text"`
}

// SpanBeforeShim is the name of a [RuntimeSpan] from a runtime's log: the part of RunPodSandbox before the connection
// to the sandbox's shim. In it the runtime sets up the pod's network.
const SpanBeforeShim = "before the shim"

// SpanPodNetwork is the name of a [RuntimeSpan] in which the runtime sets up the pod's network. containerd's own span has this name; CRI-O's
// log has one for each network of a pod.
const SpanPodNetwork = "cni.setup_pod_network"

// SpanCNIPlugin is the prefix of the name of a [RuntimeSpan] that is a run of a CNI plugin; the plugin's name follows.
const SpanCNIPlugin = "cni.plugin."

// Names of a [RuntimeSpan] from the runtime's events. Tasks have the names of containerd's own spans.
const (
	SpanNewTask       = "container.NewTask"
	SpanStartTask     = "client.task.Start"
	SpanLayerArrived  = "layer arrived"  // since the pull began
	SpanLayerUnpacked = "layer unpacked" // since its snapshot was prepared, which includes the wait for the layer
)

// Attributes of a [RuntimeSpan], with the names in containerd's own spans.
const (
	AttrSandbox     = "sandbox.id"
	AttrTrace       = "trace.id" // the trace that the sender had, where the record has another one
	AttrContainer   = "container.id"
	AttrImage       = "image.ref"
	AttrLayerDigest = "layer.media.digest"
	AttrLayerSize   = "layer.media.size"
)

// RuntimeSpan is a span that the container runtime sent (OpenTelemetry). It is published when it arrives, which is some time after
// its end. The record's Span and Parent are those of the span; the parent of the root of a tree is the CRI call.
type RuntimeSpan struct {
	// Name is the runtime's name of the span.
	Name string `json:"name" scrub:"text"`
	// Service is the sender, such as containerd.
	Service string `json:"service,omitempty" scrub:"text"`
	// Start is in Unix nanoseconds, by the clock of the node.
	Start int64 `json:"start_ns"`
	// Dur is the duration.
	Dur   time.Duration `json:"dur_ns"`
	Err   string        `json:"err,omitempty" scrub:"text"`
	Attrs []KV          `json:"attrs,omitempty" scrub:"names and text"`
	// Clipped is how many attributes were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// Call returns the CRI call of which the span is the client's or the server's view, such as RunPodSandbox; "" for all other spans.
func (e *RuntimeSpan) Call() string {
	service, method, ok := strings.Cut(e.Name, "/")
	if !ok || service != "runtime.v1.RuntimeService" && service != "runtime.v1.ImageService" {
		return ""
	}
	return method
}
