package eviction

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The resources of signals that have no name in the API, as upstream's messages name them.
const (
	inodes v1.ResourceName = "inodes"
	pids   v1.ResourceName = "pids"
)

// signals returns all signals, in the order in which their resources are reclaimed: memory first.
func signals() []trace.Signal {
	return []trace.Signal{
		trace.SignalMemory, trace.SignalAllocatable, trace.SignalNodeFS, trace.SignalNodeFSInodes, trace.SignalImageFS, trace.SignalImageFSInodes,
		trace.SignalContainerFS, trace.SignalContainerFSInodes, trace.SignalPID,
	}
}

// name returns a signal's name in the configuration, such as memory.available.
//
// Upstream: pkg/kubelet/eviction/api/types.go.
func name(s trace.Signal) string {
	if s.Unit() == trace.UnitInodes {
		return string(s)
	}
	return string(s) + ".available"
}

// resourceOf returns the resource that is reclaimed for a signal.
func resourceOf(s trace.Signal) v1.ResourceName {
	switch {
	case memory(s):
		return v1.ResourceMemory
	case s == trace.SignalPID:
		return pids
	case s.Unit() == trace.UnitInodes:
		return inodes
	}
	return v1.ResourceEphemeralStorage
}

// conditionOf returns the node's condition that is true below a threshold.
func conditionOf(s trace.Signal) v1.NodeConditionType {
	switch {
	case memory(s):
		return v1.NodeMemoryPressure
	case s == trace.SignalPID:
		return v1.NodePIDPressure
	}
	return v1.NodeDiskPressure
}

func memory(s trace.Signal) bool { return s == trace.SignalMemory || s == trace.SignalAllocatable }
