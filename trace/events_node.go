package trace

import "time"

// NodeDescribed describes the node as its Node object does, also on a standalone node. It is published when the description is
// first known, and when it changes.
type NodeDescribed struct {
	// Node is the node's name.
	Node string `json:"node"`
	// Standalone says that there is no API server.
	Standalone bool `json:"standalone,omitempty"`
	// Changed lists the differences from the last such event, for people; empty the first time.
	Changed []string `json:"changed,omitempty" scrub:"text"`
	// Resources are the node's capacity and allocatable, by name.
	Resources []NodeResource `json:"resources,omitempty"`
	Addresses []NodeAddress  `json:"addresses,omitempty"`
	// OSImage is the distribution's name, Kernel the release of the kernel.
	OSImage      string `json:"os_image,omitempty"`
	Kernel       string `json:"kernel,omitempty"`
	OS           string `json:"os,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	// KubeletVersion is the version that controllers read: that of the corresponding Kubernetes release.
	KubeletVersion string `json:"kubelet_version,omitempty"`
	// ContainerRuntime is the runtime and its version, such as containerd://2.4.2.
	ContainerRuntime string `json:"container_runtime,omitempty"`
	// CgroupVersion is 1 or 2; omitted if the agent creates no cgroups, for example with the simulated runtime. CgroupDriver is
	// cgroupfs or systemd.
	CgroupVersion int    `json:"cgroup_version,omitempty"`
	CgroupDriver  string `json:"cgroup_driver,omitempty"`
	// Clipped is how many resources and addresses were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// NodeResource is one of a node's resources. Quantities are written as Kubernetes does: 1900m, 16393244Ki.
type NodeResource struct {
	// Name is cpu, memory, pods, ephemeral-storage, hugepages-2Mi, ...
	Name string `json:"name"`
	// Capacity is the total amount, Allocatable the amount that pods can request.
	Capacity    string `json:"capacity"`
	Allocatable string `json:"allocatable"`
}

// NodeAddress is one of a node's addresses.
type NodeAddress struct {
	// Type is InternalIP, ExternalIP, Hostname, InternalDNS or ExternalDNS.
	Type    string `json:"type"`
	Address string `json:"address"`
}

// RuntimeDescribed describes the handlers and features of the container runtime. It is published after the first response to
// Status, and when the response changes.
type RuntimeDescribed struct {
	// Changed lists the differences from the last such event, for people; empty the first time.
	Changed []string `json:"changed,omitempty" scrub:"text"`
	// Handlers are the handlers that a RuntimeClass may name; none if the runtime does not list them.
	Handlers []RuntimeHandler `json:"handlers,omitempty"`
	// Features are the features of all handlers; omitted if the runtime does not list them.
	Features *RuntimeFeatures `json:"features,omitempty"`
	// Clipped is how many handlers were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// RuntimeHandler is a handler of the runtime.
type RuntimeHandler struct {
	// Name is empty for the default one.
	Name string `json:"name"`
	// RecursiveReadOnlyMounts and UserNamespaces are its features.
	RecursiveReadOnlyMounts bool `json:"recursive_read_only_mounts,omitempty"`
	UserNamespaces          bool `json:"user_namespaces,omitempty"`
}

// RuntimeFeatures are the features of a runtime that do not depend on a handler.
type RuntimeFeatures struct {
	SupplementalGroupsPolicy bool `json:"supplemental_groups_policy,omitempty"`
	// UserNamespacesHostNetwork says that pods with host network can have a user namespace.
	UserNamespacesHostNetwork bool `json:"user_namespaces_host_network,omitempty"`
}

// Certificate reports which certificate the agent uses from now on, or that it has none. Keys are never published.
type Certificate struct {
	// Use is the purpose of the certificate.
	Use CertificateUse `json:"use"`
	// None is the reason why there is no certificate; then all other fields but Awaited are empty.
	None string `json:"none,omitempty" scrub:"text"`
	// Awaited says that the agent needs one and has requested it, or will do so.
	Awaited bool `json:"awaited,omitempty"`
	// Cause is the reason why it is used from now on.
	Cause CertificateCause `json:"cause,omitempty"`
	// Source is the origin of the certificate.
	Source CertificateSource `json:"source,omitempty"`
	// Path is the file of the certificate, if there is one.
	Path string `json:"path,omitempty"`
	// Name is the subject's common name, Names the host names and addresses of the certificate.
	Name  string   `json:"name,omitempty"`
	Names []string `json:"names,omitempty"`
	// Issuer is the issuer's common name, Serial the serial number in hexadecimal.
	Issuer string `json:"issuer,omitempty"`
	Serial string `json:"serial,omitempty"`
	// NotBefore and NotAfter are the validity period.
	NotBefore time.Time `json:"not_before,omitzero"`
	NotAfter  time.Time `json:"not_after,omitzero"`
	// Renew is when the agent will request a new one; omitted if it will not.
	Renew time.Time `json:"renew,omitzero"`
}

// ClockStepped reports that the machine's wall clock was set, or stopped while the machine was suspended. The times of records are
// the wall clock at the creation of the bus, plus the monotonic clock. At this event, they are aligned with the wall clock again.
// Durations never include a step.
type ClockStepped struct {
	// Step is how far the wall clock moved relative to the monotonic clock; negative if it was set back.
	Step time.Duration `json:"step_ns"`
	// Jump is the correction: the times of this record and of later records are this much later than they would have been. The time
	// between a record before and a record after is less by Jump.
	Jump time.Duration `json:"jump_ns,omitempty"`
	// Ahead is how far the times of records are ahead of the wall clock from now on. They never go back: after the wall clock is
	// set back, they continue unchanged.
	Ahead time.Duration `json:"ahead_ns,omitempty"`
}

// Shutdown is a step of a graceful shutdown of the node: the agent holds a lock of logind, with which a shutdown of the machine waits until
// the pods have terminated, a group of the same priority after the other. A group begins and ends; the other steps are points.
//
// Upstream: pkg/kubelet/nodeshutdown.
type Shutdown struct {
	// State is the step.
	State ShutdownState `json:"state"`
	// Delay is how long logind waits for locks at most. It is that of held and announced.
	Delay time.Duration `json:"delay_ns,omitempty"`
	// Grace is how long the pods of the group may take, in seconds; of held and announced, how long all groups may take.
	Grace int64 `json:"grace_seconds,omitempty"`
	// Groups is the number of groups that have pods, and Group the number of this one, from 1.
	Group  int `json:"group,omitempty"`
	Groups int `json:"groups,omitempty"`
	// Priority is the one that the configuration has for the group: its pods have this priority or more, and less than the next group's.
	// Those with less than the first group's are in the first.
	Priority int32 `json:"priority,omitempty"`
	// Pods are the pods of the group, or of all groups, as namespace/name.
	Pods []string `json:"pods,omitempty"`
	// Overran are those that had not terminated when their time was over, or whose volumes were still mounted.
	Overran []string `json:"overran,omitempty"`
	// Started and Ended are when the shutdown was announced, and when the lock was released. They are those of announced, released,
	// canceled and last.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}
