package trace

import "time"

// DevicePlugin reports a change of a device plugin: it registered, its devices changed, it is gone.
type DevicePlugin struct {
	Op DevicePluginOp `json:"op"`
	// Resource is what the plugin offers, such as vendor.com/gpu.
	Resource string `json:"resource"`
	// Socket is the path of the plugin's socket.
	Socket string `json:"socket,omitempty"`
	// Healthy and Unhealthy are the numbers of its devices; only when they changed. Of a listed one, Unhealthy is not known.
	Healthy   int `json:"healthy,omitempty"`
	Unhealthy int `json:"unhealthy,omitempty"`
	// Dropped is how many entries of its list were ignored: without an ID, with one that is too long or not unique, or too many.
	Dropped int `json:"dropped,omitempty"`
	// PreStart says that the plugin wants to be called before a container starts, Prefers that it has a preference for devices.
	PreStart bool `json:"pre_start,omitempty"`
	Prefers  bool `json:"prefers,omitempty"`
	// Err is why the plugin was refused, or how its connection ended.
	Err string `json:"err,omitempty" scrub:"text"`
}

// DeviceAllocation reports that a container got devices of one resource, that it could not get them, or that the plugin prepared them.
type DeviceAllocation struct {
	Container string        `json:"container"`
	Resource  string        `json:"resource"`
	Outcome   DeviceOutcome `json:"outcome"`
	// Count is how many devices the container needs, IDs are the first of them, at most 16.
	Count int      `json:"count"`
	IDs   []string `json:"ids,omitempty" scrub:"text"`
	// Nodes are the NUMA nodes of its devices, such as 0,1; empty if they are on none in particular. Affinity are the NUMA nodes that the
	// topology manager chose; empty for any.
	Nodes    string `json:"numa_nodes,omitempty"`
	Affinity string `json:"affinity,omitempty"`
	// Took is how long the plugin's call took: Allocate or PreStartContainer. Preferred is how long it took to ask for its preference.
	Took      time.Duration `json:"took_ns,omitempty"`
	Preferred time.Duration `json:"preferred_ns,omitempty"`
	// Err is why the container did not get them.
	Err string `json:"err,omitempty" scrub:"text"`
}
