package trace

// ResourcesDescribed describes how the machine's CPUs and memory are arranged, and which of them containers can have for themselves. It
// is published when the agent starts; of another kubelet, when an observer learns it, and when it changes. What containers get from then on
// is in allocation and device.allocation. Lists of CPUs have the kernel's format, such as 0-3,8.
//
// Upstream: pkg/kubelet/cm/cpumanager, memorymanager, topologymanager.
type ResourcesDescribed struct {
	// CPUPolicy, MemoryPolicy and TopologyPolicy are cpuManagerPolicy, memoryManagerPolicy and topologyManagerPolicy; Scope is
	// topologyManagerScope, omitted with the policy none. Options are the names of cpuManagerPolicyOptions that are on, with commas between.
	// An empty policy is not known.
	CPUPolicy      string `json:"cpu_policy"`
	MemoryPolicy   string `json:"memory_policy"`
	TopologyPolicy string `json:"topology_policy"`
	Scope          string `json:"scope,omitempty"`
	Options        string `json:"cpu_options,omitempty"`
	// Assumed says that the arrangement could not be read: all CPUs and memory count as one NUMA node.
	Assumed bool `json:"assumed,omitempty"`
	// Nodes are the NUMA nodes; the node -1 has the CPUs of which it is not known on which node they are.
	Nodes []NUMANode `json:"nodes,omitempty"`
	// Reserved are the CPUs for the system, which no container gets for itself; Pool are those that all containers without own ones share.
	// Both are omitted with the policy none, or if they are not known.
	Reserved string `json:"reserved,omitempty"`
	Pool     string `json:"pool,omitempty"`
	// Memory are the amounts of memory and of huge pages of all nodes.
	Memory []NUMAMemory `json:"memory,omitempty"`
	// Clipped is how many nodes and amounts were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// NUMANode is a NUMA node.
type NUMANode struct {
	ID   int    `json:"id"`
	CPUs string `json:"cpus,omitempty"`
}

// NUMAMemory is how much of a resource a NUMA node has, in bytes.
type NUMAMemory struct {
	Node int `json:"node"`
	// Resource is memory, or a size of huge pages, such as hugepages-2Mi. Huge pages are a part of the memory's total.
	// The total is 0 if it is not known.
	Resource string `json:"resource"`
	Total    uint64 `json:"total"`
	// Allocatable is what containers can have for themselves: without what is reserved for the system and, of memory, without the huge
	// pages. Free is what of that no container has. Both are 0 with the policy None.
	Allocatable uint64 `json:"allocatable,omitempty"`
	Free        uint64 `json:"free,omitempty"`
}
