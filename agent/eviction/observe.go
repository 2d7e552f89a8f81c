package eviction

import (
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Measured is what the node has; what is nil is unknown.
type Measured struct {
	// Memory is the node's, Pods that of all pods together.
	Memory, Pods             *statsapi.MemoryStats
	Node, Images, Containers *statsapi.FsStats
	Processes                *statsapi.RlimitStats
	// Layout says which of the file systems are the same.
	Layout Layout
}

// observation is what is available of a resource, in the signal's unit.
type observation struct{ available, capacity int64 }

// observations are the known ones.
type observations map[trace.Signal]observation

// observe returns what is available.
//
// Upstream: pkg/kubelet/eviction/helpers.go, makeSignalObservations.
func observe(m *Measured) observations {
	out := observations{}
	for s, of := range map[trace.Signal]*statsapi.MemoryStats{trace.SignalMemory: m.Memory, trace.SignalAllocatable: m.Pods} {
		if of != nil && of.AvailableBytes != nil && of.WorkingSetBytes != nil {
			out[s] = observation{int64(*of.AvailableBytes), int64(*of.AvailableBytes + *of.WorkingSetBytes)}
		}
	}
	for _, fs := range []struct {
		of           *statsapi.FsStats
		bytes, nodes trace.Signal
	}{
		{m.Node, trace.SignalNodeFS, trace.SignalNodeFSInodes},
		{m.Images, trace.SignalImageFS, trace.SignalImageFSInodes},
		{m.Containers, trace.SignalContainerFS, trace.SignalContainerFSInodes},
	} {
		if fs.of != nil && fs.of.AvailableBytes != nil && fs.of.CapacityBytes != nil {
			out[fs.bytes] = observation{int64(*fs.of.AvailableBytes), int64(*fs.of.CapacityBytes)}
		}
		// A file system without a limit of inodes, such as btrfs, reports none.
		if fs.of != nil && fs.of.InodesFree != nil && fs.of.Inodes != nil && *fs.of.Inodes > 0 {
			out[fs.nodes] = observation{int64(*fs.of.InodesFree), int64(*fs.of.Inodes)}
		}
	}
	if p := m.Processes; p != nil && p.MaxPID != nil && p.NumOfRunningProcesses != nil {
		out[trace.SignalPID] = observation{*p.MaxPID - *p.NumOfRunningProcesses, *p.MaxPID}
	}
	return out
}

// below reports whether there is less than a threshold; with reclaim, less than the threshold and its minimum reclaim.
func (o observations) below(t *Threshold, reclaim bool) bool {
	got, ok := o[t.Signal]
	if !ok {
		return false
	}
	want := t.Free.of(got.capacity)
	if reclaim {
		want += t.Reclaim.of(got.capacity)
	}
	return got.available < want
}
