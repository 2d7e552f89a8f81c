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
