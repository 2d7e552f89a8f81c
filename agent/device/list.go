package device

import (
	"maps"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// Limits of what a plugin says about its devices. Real IDs have some 50 bytes.
const (
	maxID      = 1 << 10  // bytes of an ID
	maxDevices = 32 << 10 // devices of a resource
	maxNodes   = 64       // NUMA nodes of a device
)

// noNode is the NUMA node of devices that are on none. Upstream: pkg/kubelet/cm/devicemanager, nodeWithoutTopology.
const noNode = -1

// device is a device of a plugin.
type device struct {
	// healthy says that it can be given to containers. said is what its plugin said last, which pods' statuses show.
	healthy, said bool
	// nodes are its NUMA nodes, sorted; empty if it is on none in particular.
	nodes []int64
}

// list are the devices of a resource, by ID.
type list map[string]device

// read returns the devices of a plugin's answer, and how many entries of it were left out: without an ID, with one that is too long, or
// more than there may be. Of several entries with one ID, the last counts, as upstream.
func read(devices []*pluginapi.Device) (all list, dropped int) {
	all = make(list, min(len(devices), maxDevices))
	for _, d := range devices {
		id := d.GetID()
		_, again := all[id]
		if id == "" || len(id) > maxID || !again && len(all) >= maxDevices {
			dropped++
			continue
		}
		if again {
			dropped++
		}
		ok := d.GetHealth() == pluginapi.Healthy
		all[id] = device{healthy: ok, said: ok, nodes: nodesOf(d.GetTopology())}
	}
	return all, dropped
}

func nodesOf(t *pluginapi.TopologyInfo) []int64 {
	var out []int64
	for _, n := range t.GetNodes() {
		if n != nil && n.GetID() >= 0 && len(out) < maxNodes {
			out = append(out, n.GetID())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// counts returns how many devices are healthy, and how many are not.
func (l list) counts() (healthy, unhealthy int) {
	for _, d := range l {
		if d.healthy {
			healthy++
		}
	}
	return healthy, len(l) - healthy
}

// healthy returns the sorted IDs of the healthy devices.
func (l list) healthy() []string {
	out := make([]string, 0, len(l))
	for id, d := range l {
		if d.healthy {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// aligned reports whether any device is on a NUMA node: then the plugin cares. Upstream: deviceHasTopologyAlignment.
func (l list) aligned() bool {
	for _, d := range l {
		if len(d.nodes) > 0 {
			return true
		}
	}
	return false
}

// byNode returns devices by NUMA node, as the checkpoint has them.
func (l list) byNode(ids []string) checkpoint.DevicesPerNUMA {
	out := checkpoint.DevicesPerNUMA{}
	for _, id := range ids {
		nodes := l[id].nodes
		if len(nodes) == 0 {
			nodes = []int64{noNode}
		}
		for _, n := range nodes {
			out[n] = append(out[n], id)
		}
	}
	return out
}

// nodes returns the NUMA nodes of devices.
func (l list) nodes(ids []string) (out numa.Mask) {
	for _, id := range ids {
		out |= mask(l[id].nodes)
	}
	return out
}

// unusable returns the same devices, none of which can be given to containers.
func (l list) unusable() list {
	out := maps.Clone(l)
	for id, d := range out {
		d.healthy = false
		out[id] = d
	}
	return out
}
