package trace

import "time"

// NodeDescribed tells what the node is and has: what its object in the API says of it, or would say on a standalone node. It is
// published when that is known first, and when it changes.
type NodeDescribed struct {
	// Node is the node's name.
	Node string `json:"node"`
	// Standalone says that there is no API server that could be told.
	Standalone bool `json:"standalone,omitempty"`
	// Changed says what differs from what was told before, for people; nothing the first time.
	Changed []string `json:"changed,omitempty" scrub:"text"`
	// Resources are what the machine has, and what of it is for pods, by name.
	Resources []NodeResource `json:"resources,omitempty"`
	Addresses []NodeAddress  `json:"addresses,omitempty"`
	// OSImage is the distribution's name for people, Kernel the kernel's release.
	OSImage      string `json:"os_image,omitempty"`
	Kernel       string `json:"kernel,omitempty"`
	OS           string `json:"os,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	// KubeletVersion is the version that controllers read, of the Kubernetes release that is followed.
	KubeletVersion string `json:"kubelet_version,omitempty"`
	// ContainerRuntime is the runtime and its version, as containerd://2.4.2.
	ContainerRuntime string `json:"container_runtime,omitempty"`
	// CgroupVersion is 1 or 2; left out where no cgroups are made, as with the simulated runtime. CgroupDriver is cgroupfs or systemd.
	CgroupVersion int    `json:"cgroup_version,omitempty"`
	CgroupDriver  string `json:"cgroup_driver,omitempty"`
	// Clipped is how many resources and addresses were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// NodeResource is one of a node's resources. Quantities are written as Kubernetes does: 1900m, 16393244Ki.
type NodeResource struct {
	// Name is cpu, memory, pods, ephemeral-storage, hugepages-2Mi, ...
	Name string `json:"name"`
	// Capacity is what there is, Allocatable what pods may request of it.
	Capacity    string `json:"capacity"`
	Allocatable string `json:"allocatable"`
}

// NodeAddress is one of a node's addresses.
type NodeAddress struct {
	// Type is InternalIP, ExternalIP, Hostname, InternalDNS or ExternalDNS.
	Type    string `json:"type"`
	Address string `json:"address"`
}

// RuntimeDescribed tells what the container runtime says that it can do: after its first answer to Status, and when the answer changes.
type RuntimeDescribed struct {
	// Changed says what differs from what was told before, for people; nothing the first time.
	Changed []string `json:"changed,omitempty" scrub:"text"`
	// Handlers are those that a RuntimeClass may name; none when the runtime does not say.
	Handlers []RuntimeHandler `json:"handlers,omitempty"`
	// Features are what all handlers can do; left out when the runtime does not say.
	Features *RuntimeFeatures `json:"features,omitempty"`
	// Clipped is how many handlers were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}

// RuntimeHandler is a handler of the runtime.
type RuntimeHandler struct {
	// Name is empty for the default one.
	Name string `json:"name"`
	// RecursiveReadOnlyMounts and UserNamespaces say what it can do.
	RecursiveReadOnlyMounts bool `json:"recursive_read_only_mounts,omitempty"`
	UserNamespaces          bool `json:"user_namespaces,omitempty"`
}

// RuntimeFeatures is what a runtime can do with all its handlers.
type RuntimeFeatures struct {
	SupplementalGroupsPolicy bool `json:"supplemental_groups_policy,omitempty"`
	// UserNamespacesHostNetwork says that pods on the host's network may have a user namespace.
	UserNamespacesHostNetwork bool `json:"user_namespaces_host_network,omitempty"`
}

// Certificate tells which certificate the agent shows from now on, or that it has none. Keys are never told.
type Certificate struct {
	// Use is what it is for.
	Use CertificateUse `json:"use"`
	// None says why there is none; nothing else is told then.
	None string `json:"none,omitempty" scrub:"text"`
	// Cause is why it is shown from now on.
	Cause CertificateCause `json:"cause,omitempty"`
	// Source is where it is from.
	Source CertificateSource `json:"source,omitempty"`
	// Path is the file that it is in, where it is in one.
	Path string `json:"path,omitempty"`
	// Name is the subject's common name, Names the host names and addresses that it is for.
	Name  string   `json:"name,omitempty"`
	Names []string `json:"names,omitempty"`
	// Issuer is the common name of who signed it, Serial its number in hexadecimal.
	Issuer string `json:"issuer,omitempty"`
	Serial string `json:"serial,omitempty"`
	// NotBefore and NotAfter are from when and until when it is valid.
	NotBefore time.Time `json:"not_before,omitzero"`
	NotAfter  time.Time `json:"not_after,omitzero"`
	// Renew is when the agent will ask for another; left out where it does not.
	Renew time.Time `json:"renew,omitzero"`
}

// ClockStepped tells that the machine's wall clock was set, or stood still while the machine was suspended. Times of records follow
// the monotonic clock from the wall clock as it was at the bus's birth; here they are anchored again. Durations never count a step.
type ClockStepped struct {
	// Step is by how much the wall clock went ahead of the monotonic one; negative where it was set back.
	Step time.Duration `json:"step_ns"`
	// Jump is by how much later the times of this record and those after it are than they would have been: what lies between two
	// records on both sides is less by that.
	Jump time.Duration `json:"jump_ns,omitempty"`
	// Ahead is by how much times of records are ahead of the wall clock from here on. They never go back: where the wall clock was
	// set back, they continue as they were.
	Ahead time.Duration `json:"ahead_ns,omitempty"`
}
