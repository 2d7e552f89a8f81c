package trace

import "time"

// Allocation is a decision of the managers of CPUs, memory and topology: what a container got for itself, what was released, or why a pod
// was refused. Lists of CPUs and NUMA nodes have the kernel's format, such as 0-3,8.
//
// Upstream: pkg/kubelet/cm/cpumanager, memorymanager, topologymanager.
//
// Many fields: each manager decides about other resources.
type Allocation struct {
	// Manager is who decided.
	Manager AllocationManager `json:"manager"`
	Outcome AllocationOutcome `json:"outcome"`
	// Policy is the manager's policy, and Scope that of the topology manager: container or pod.
	Policy string `json:"policy,omitempty"`
	Scope  string `json:"scope,omitempty"`
	// Container is the container; empty for the whole pod.
	Container string `json:"container,omitempty"`
	// Source is whose it is, with the feature gate PodLevelResourceManagers; of a refusal, for whom it was to be. Empty without the gate.
	Source AllocationSource `json:"source,omitempty"`
	// Why is the reason of what was chosen or released.
	Why AllocationWhy `json:"why,omitempty"`
	// CPUs are the container's own CPUs, Nodes the NUMA nodes of its CPUs or its memory.
	CPUs  string `json:"cpus,omitempty"`
	Nodes string `json:"numa_nodes,omitempty"`
	// Memory is the container's own memory.
	Memory []NodeMemory `json:"memory,omitempty"`
	// Pool are the CPUs that all other containers share from now on.
	Pool string `json:"pool,omitempty"`
	// Free is what the NUMA nodes of the memory have left for containers from now on, one node in each entry.
	Free []NodeMemory `json:"free,omitempty"`
	// Shared is the number of CPUs of the pool that are not reserved, and Own how many CPUs of each NUMA node containers have for
	// themselves; when the manager of CPUs starts, and when they change.
	Shared int        `json:"shared,omitempty"`
	Own    []NodeCPUs `json:"own,omitempty"`
	// WholeCores says that the policy requires whole cores, OneCache that all of the CPUs share a last-level cache.
	WholeCores bool `json:"whole_cores,omitempty"`
	OneCache   bool `json:"one_cache,omitempty"`
	// Aligned is for how many containers (with the scope pod: 1, for the pod) the policy guaranteed that all is on one NUMA node.
	Aligned int `json:"aligned,omitempty"`
	// Took is how long the admission took.
	Took time.Duration `json:"took_ns,omitempty"`
	// Affinity are the NUMA nodes that the topology manager chose; empty for any. Preferred says that all resources prefer them.
	Affinity  string `json:"affinity,omitempty"`
	Preferred bool   `json:"preferred,omitempty"`
	// Hints are what the managers proposed for a pod that was refused or, if one of them failed, that one.
	Hints []ResourceHints `json:"hints,omitempty"`
	// Clipped is how many hints and amounts of memory were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
	// Code and Err are the reason of a refusal, as in the pod's status.
	Code string `json:"code,omitempty"`
	Err  string `json:"err,omitempty" scrub:"text"`
}

// NodeCPUs is a number of CPUs of a NUMA node.
type NodeCPUs struct {
	Node int `json:"numa_node"`
	CPUs int `json:"cpus"`
}

// NodeMemory is an amount of memory on NUMA nodes.
type NodeMemory struct {
	// Resource is memory, or a size of huge pages, such as hugepages-2Mi.
	Resource string `json:"resource"`
	Bytes    uint64 `json:"bytes"`
	Nodes    string `json:"numa_nodes"`
}

// ResourceHints are the sets of NUMA nodes that can give a resource, with spaces between, such as "0 1 0,1".
type ResourceHints struct {
	// Provider is the manager.
	Provider string `json:"provider"`
	Resource string `json:"resource,omitempty"`
	// Any says that any nodes will do.
	Any bool `json:"any,omitempty"`
	// Preferred are the smallest sets that could give it on an idle node, Possible the others. If there are none, no nodes can give it.
	Preferred string `json:"preferred,omitempty"`
	Possible  string `json:"possible,omitempty"`
	// Err is why no nodes could ever give it.
	Err string `json:"err,omitempty" scrub:"text"`
}
