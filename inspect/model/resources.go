package model

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Resources is which CPUs, memory and devices of the machine containers have for themselves. It is shared and must not be changed.
type Resources struct {
	// At is when the agent described the machine; zero: the records do not say.
	At time.Time
	trace.ResourcesDescribed
	// NUMA are the NUMA nodes. If the records do not describe them, there is one of number Anywhere with the CPUs that allocations name.
	NUMA []NUMANode
	// Owners are the containers that have something for themselves, by the names of pods and containers. Before those of a pod with
	// pod-level resources is the pod itself, with what it has for all of them: what they have is a part of it.
	Owners []*Owner
	// Devices are the resources of device plugins, by name.
	Devices []DeviceResource
	// Refused are the last pods that did not get what they requested, the newest first.
	Refused []Refusal
	// Claims are the ResourceClaims of pods of this node, by namespace and name.
	Claims []*Claim
	// Omitted is how many containers are not kept because of the limit, and OmittedClaims how many claims.
	Omitted, OmittedClaims int
}

// Anywhere is the number of a NUMA node that is not known.
const Anywhere = -1

// NUMANode is a NUMA node.
type NUMANode struct {
	ID     int
	CPUs   []CPU // ascending
	Memory []NUMAMemory
}

// CPU is who uses a CPU.
type CPU struct {
	ID  int
	Use CPUUse
	// Owner is the index of the container in Resources.Owners that has it for itself; -1: none, or an unknown one.
	Owner int
}

// CPUUse is what a CPU is used for.
type CPUUse string

// The uses of CPUs.
const (
	CPUShared    CPUUse = "shared"    // all containers without own CPUs use it
	CPUReserved  CPUUse = "reserved"  // for the system: no container gets it for itself
	CPUExclusive CPUUse = "exclusive" // a container has it for itself
)

// NUMAMemory is how much of a resource a NUMA node has, in bytes.
type NUMAMemory struct {
	Resource string
	// Total is 0, too, if it is not known: see TotalKnown.
	Total uint64
	// Managed says that containers can have it for themselves, and that the figures below are known: Own is what containers have, Free what
	// none has, Reserved the rest. Of memory, Pages of the total are huge pages.
	Managed                    bool
	Reserved, Own, Free, Pages uint64
}

// TotalKnown reports whether Total and Reserved are known. Otherwise there is more than the total: what containers can have.
func (m *NUMAMemory) TotalKnown() bool { return m.Total > 0 || m.Own == 0 && m.Free == 0 }

// Owner is a container with what it has for itself, or a pod with what it has for all of its containers.
type Owner struct {
	Pod       trace.Pod
	Container string // empty: the pod
	// CPUs and Memory are the allocations, without the fields about other containers; nil: none. CPUsAt and MemoryAt are their times.
	CPUs, Memory     *trace.Allocation
	CPUsAt, MemoryAt time.Time
	// Devices are its devices, by resource, and DevicesAt the time of the last of them.
	Devices   []trace.DeviceAllocation
	DevicesAt time.Time
}

// DeviceResource is a resource of device plugins.
type DeviceResource struct {
	Name   string
	Plugin PluginState
	Since  time.Time // since when Plugin; zero: unknown
	// Sockets are those of the connected plugins.
	Sockets []string
	// Healthy and Unhealthy are the numbers of devices; only if Listed. HealthyOnly says that Unhealthy is not known.
	Listed             bool
	HealthyOnly        bool
	Healthy, Unhealthy int
	Dropped            int // entries of the plugin's last list that were ignored
	PreStart, Prefers  bool
	Err                string // why the plugin was refused, or how its connection ended
	// Given is how many devices containers have, and Holders are these: indexes of Resources.Owners.
	Given   int
	Holders []int
}

// Free returns how many healthy devices no container has, at least: no record says which of the containers' devices are not healthy, and all
// count as healthy here.
func (d *DeviceResource) Free() int { return max(d.Healthy-d.Given, 0) }

// PluginState is the state of a device plugin.
type PluginState string

// The states of device plugins.
const (
	PluginUnknown   PluginState = "unknown"   // no record says
	PluginConnected PluginState = "connected" // its devices can be allocated
	PluginGone      PluginState = "gone"      // its connection ended
	PluginRemoved   PluginState = "removed"   // it has been gone for so long that the node has none of the resource
	PluginRefused   PluginState = "refused"   // its registration was refused
)

// Refusal is a pod that did not get what it requested. A pod has one, the last.
type Refusal struct {
	At        time.Time
	Seq       uint64 // its first record
	Pod       trace.Pod
	Container string // "" for the whole pod
	// Code is the reason in the pod's status; "" if unknown. Message is the sentence.
	Code, Message string
	// Policy and Scope are those of the topology manager, Affinity the NUMA nodes that it chose; "" if it did not decide.
	Policy, Scope, Affinity string
	// Hints are what the managers proposed.
	Hints []trace.ResourceHints
	// Resource and Count are the devices that it did not get; "" if it was not about devices.
	Resource string
	Count    int
}

// ReservedKnown reports whether Reserved says all: with the policy none, no CPUs are reserved, and with another one, some are.
func (r *Resources) ReservedKnown() bool {
	return r.At.IsZero() || r.Reserved != "" || strings.EqualFold(r.CPUPolicy, "none")
}

// Resources returns which CPUs, memory and devices containers have for themselves. It is computed once for the last change.
func (m *Model) Resources() *Resources {
	if m.res.built == nil {
		m.res.built = m.res.build()
	}
	return m.res.built
}
