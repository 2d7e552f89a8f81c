package say

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestDevices(t *testing.T) {
	const gpu, socket = "example.com/gpu", "/var/lib/kubelet/device-plugins/gpu.sock"
	for want, e := range map[string]trace.Event{
		"device plugin of example.com/gpu registered: " + socket:                                  &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: gpu, Socket: socket},
		"device plugin of cpu was refused: the ResourceName \"cpu\" is invalid":                   &trace.DevicePlugin{Op: trace.PluginRefused, Resource: "cpu", Err: `the ResourceName "cpu" is invalid`},
		"example.com/gpu: 3 healthy devices, 1 unhealthy":                                         &trace.DevicePlugin{Op: trace.PluginDevices, Resource: gpu, Healthy: 3, Unhealthy: 1},
		"example.com/gpu: 3 healthy devices, 0 unhealthy, 2 entries of the plugin's list ignored": &trace.DevicePlugin{Op: trace.PluginDevices, Resource: gpu, Healthy: 3, Dropped: 2},
		"device plugin of example.com/gpu is gone: its devices are not allocated until one registers: EOF": &trace.DevicePlugin{
			Op: trace.PluginGone, Resource: gpu, Socket: socket, Err: "EOF",
		},
		"example.com/gpu is removed from the node: no device plugin registered for it for 5 min": &trace.DevicePlugin{Op: trace.PluginRemoved, Resource: gpu},
		"allocated 2 example.com/gpu for web: g0, g1; its preference took 2ms (the plugin took 1.50s)": &trace.DeviceAllocation{
			Container: "web", Resource: gpu, Outcome: trace.DevicesAllocated, Count: 2, IDs: []string{"g0", "g1"}, Took: 1500 * time.Millisecond, Preferred: 2 * time.Millisecond,
		},
		"released 1 example.com/gpu for web: g7":                                          &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesReleased, Count: 1, IDs: []string{"g7"}},
		"example.com/gpu: 3 healthy devices are listed":                                   &trace.DevicePlugin{Op: trace.PluginListed, Resource: gpu, Healthy: 3},
		"kept 1 example.com/gpu for web: g7 (NUMA node 1)":                                &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesKept, Count: 1, IDs: []string{"g7"}, Nodes: "1"},
		"allocated 1 example.com/gpu for web: g1 (NUMA node 1)":                           &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesAllocated, Count: 1, IDs: []string{"g1"}, Nodes: "1", Affinity: "1"},
		"allocated 1 example.com/gpu for web: g1 (NUMA node 1); NUMA nodes 0 were chosen": &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesAllocated, Count: 1, IDs: []string{"g1"}, Nodes: "1", Affinity: "0"},
		"allocated 20 example.com/gpu for web: g0 and 19 more":                            &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesAllocated, Count: 20, IDs: []string{"g0"}},
		"refused 2 example.com/gpu for web: too few":                                      &trace.DeviceAllocation{Container: "web", Resource: gpu, Outcome: trace.DevicesRefused, Count: 2, Err: "too few"},
	} {
		if got := Line(&trace.Record{Event: e}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
