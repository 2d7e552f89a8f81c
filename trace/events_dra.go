package trace

import "time"

// DRAPlugin reports a change of a plugin of a DRA driver: it registered, its connection was made or broke, it is gone.
type DRAPlugin struct {
	Op DRAPluginOp `json:"op"`
	// Driver is the driver's name, such as gpu.example.com; omitted if all drivers are meant.
	Driver string `json:"driver,omitempty"`
	// Socket is the path of the plugin's socket.
	Socket string `json:"socket,omitempty"`
	// Service is the gRPC service that is called, Health the one that reports the health of devices; omitted if there is none.
	Service string `json:"service,omitempty"`
	Health  string `json:"health,omitempty"`
	// Err is why the plugin was refused, how its connection broke, or why ResourceSlices could not be deleted.
	Err string `json:"err,omitempty" scrub:"text"`
}

// ResourceClaim reports what became of a ResourceClaim on this node: a DRA driver prepared or unprepared it, or that failed.
type ResourceClaim struct {
	Op ClaimOp `json:"op"`
	// Namespace, Name and UID are the claim's. Of a claim that was not found, UID is omitted, and Name is that in the pod if the claim's
	// own is not known.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Driver is the driver that was called or is missing; omitted if the reason is the claim itself.
	Driver string `json:"driver,omitempty"`
	// Devices are the first devices, at most 16, as POOL/DEVICE; Count is how many there are.
	Devices []string `json:"devices,omitempty" scrub:"text"`
	Count   int      `json:"count,omitempty"`
	// Method is the gRPC method that was called, such as v1.DRAPlugin/NodePrepareResources, and Took how long it took. Batch is how many
	// claims the call was for; only in the record of the first of them.
	Method string        `json:"method,omitempty"`
	Batch  int           `json:"batch,omitempty"`
	Took   time.Duration `json:"took_ns,omitempty"`
	// Fault is why it failed, Code the gRPC status of a call that failed, Err the error.
	Fault ClaimFault `json:"fault,omitempty"`
	Code  string     `json:"code,omitempty"`
	Err   string     `json:"err,omitempty" scrub:"text"`
}

// ClaimDescribed describes all that the agent knows of a ResourceClaim that pods of this node use. It is published when any of that changes,
// and once for each claim when the agent starts. It is about the node: what happened for a pod is in ResourceClaim.
type ClaimDescribed struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID is omitted if the claim does not exist, or could not be read.
	UID   string     `json:"uid,omitempty"`
	State ClaimState `json:"state"`
	// Since is when that state began.
	Since time.Time `json:"since,omitzero"`
	// Drivers are the drivers that have devices of the claim, sorted, at most 32.
	Drivers []string `json:"drivers,omitempty"`
	// Devices are the first devices that drivers prepared, at most 32; Count is how many there are.
	Devices []ClaimDevice `json:"devices,omitempty"`
	Count   int           `json:"count,omitempty"`
	// Pods are the first pods that use the claim, at most 32; Users is how many there are.
	Pods  []ClaimPod `json:"pods,omitempty"`
	Users int        `json:"users,omitempty"`
	// Fault is why the last call failed, FaultDriver the driver that failed or is missing, Err the error.
	Fault       ClaimFault `json:"fault,omitempty"`
	FaultDriver string     `json:"fault_driver,omitempty"`
	Err         string     `json:"err,omitempty" scrub:"text"`
	// Clipped is how many devices and pods were omitted because of the limit of an event.
	Clipped int `json:"clipped,omitempty"`
}

// ClaimDevice is a device of a ResourceClaim, as its driver described it.
type ClaimDevice struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
	// Share is the ID of the share, if containers get a part of the device.
	Share string `json:"share,omitempty"`
	// Requests are the claim's requests that the device is for; omitted for all. At most 16.
	Requests []string `json:"requests,omitempty"`
	// CDI are the names of the device for the container runtime (Container Device Interface), at most 16.
	CDI []string `json:"cdi,omitempty" scrub:"text"`
	// Health is omitted if the health of devices is not requested (feature gate ResourceHealthStatus); Message is the driver's.
	Health  DeviceHealth `json:"health,omitempty"`
	Message string       `json:"message,omitempty" scrub:"text"`
}

// ClaimPod is a pod that uses a ResourceClaim.
type ClaimPod struct {
	Pod Pod `json:"pod"`
	// Containers are those that use the claim, init containers included; omitted if the pod is not known any more. At most 32.
	Containers []string `json:"containers,omitempty"`
}
