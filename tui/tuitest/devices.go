package tuitest

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Devices is a machine of eight NUMA nodes with so many devices of one resource, each of which a container has.
func Devices(count int) []trace.Record {
	s := &Script{}
	s.Point(0, Span{}, &trace.Agent{State: trace.AgentReady, Node: "lab-4", Runtime: "containerd", RuntimeVersion: "2.4.2"})
	d := trace.ResourcesDescribed{CPUPolicy: "static", MemoryPolicy: "None", TopologyPolicy: "none", Reserved: "0", Pool: "0-511"}
	for id := range 8 {
		d.Nodes = append(d.Nodes, trace.NUMANode{ID: id, CPUs: fmt.Sprintf("%d-%d", id*64, id*64+63)})
		d.Memory = append(d.Memory, trace.NUMAMemory{Node: id, Resource: "memory", Total: 64 * gib})
	}
	s.Point(ms, Span{}, &d)
	s.Point(2*ms, Span{}, &trace.DevicePlugin{Op: trace.PluginRegistered, Resource: "example.com/dev", Socket: "/var/lib/kubelet/device-plugins/dev.sock"})
	s.Point(3*ms, Span{}, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: "example.com/dev", Healthy: count})
	for i := range count {
		pod := trace.Pod{Namespace: "many", Name: fmt.Sprintf("pod-%05d", i), UID: fmt.Sprint(i)}
		s.Point(time.Second+time.Duration(i)*time.Millisecond, Span{}.Of(pod), &trace.DeviceAllocation{
			Container: "main", Resource: "example.com/dev", Outcome: trace.DevicesAllocated, Count: 1, IDs: []string{fmt.Sprintf("dev%d", i)},
		})
	}
	return s.Records()
}
