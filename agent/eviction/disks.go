package eviction

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Layout says which file systems the node has for the agent's directory, images, and the containers' writable layers.
type Layout int

// The layouts.
const (
	// OneFS has everything on the agent's file system.
	OneFS Layout = iota
	// ImageFS has images and layers on a file system of their own.
	ImageFS
	// SplitFS has images on a file system of their own, and layers on the agent's (KEP-4191).
	SplitFS
)

// thresholds returns the thresholds for a layout: containerfs has those of the file system that it is on, never its own.
//
// Upstream: pkg/kubelet/eviction/helpers.go, UpdateContainerFsThresholds.
func (l Layout) thresholds(all []Threshold) []Threshold {
	from := map[trace.Signal]trace.Signal{trace.SignalImageFS: trace.SignalContainerFS, trace.SignalImageFSInodes: trace.SignalContainerFSInodes}
	if l != ImageFS {
		from = map[trace.Signal]trace.Signal{trace.SignalNodeFS: trace.SignalContainerFS, trace.SignalNodeFSInodes: trace.SignalContainerFSInodes}
	}
	var out, added []Threshold
	for _, t := range all {
		if t.Signal != trace.SignalContainerFS && t.Signal != trace.SignalContainerFSInodes {
			out = append(out, t)
		}
		if to, ok := from[t.Signal]; ok {
			t.Signal = to
			added = append(added, t)
		}
	}
	return slices.Concat(out, added)
}

// parts are the parts of a pod's disk usage.
type parts struct{ layers, logs, volumes bool }

// parts returns what of a pod's usage is on the file system of a signal.
//
// Upstream: pkg/kubelet/eviction/helpers.go, buildSignalToRankFunc.
func (l Layout) parts(s trace.Signal) parts {
	image := s == trace.SignalImageFS || s == trace.SignalImageFSInodes
	container := s == trace.SignalContainerFS || s == trace.SignalContainerFSInodes
	switch {
	case l == OneFS:
		return parts{layers: true, logs: true, volumes: true}
	case l == ImageFS:
		return parts{layers: image || container, logs: !image && !container, volumes: !image && !container}
	case image:
		return parts{} // nothing of a pod is there
	}
	return parts{layers: true, logs: true, volumes: true}
}

// reclaim is what of the node's own can be removed.
type reclaim struct{ containers, images bool }

// reclaim returns what can be removed before pods are evicted for a signal.
//
// Upstream: pkg/kubelet/eviction/helpers.go, buildSignalToNodeReclaimFuncs.
func (l Layout) reclaim(s trace.Signal) reclaim {
	switch s {
	case trace.SignalNodeFS, trace.SignalNodeFSInodes:
		return reclaim{containers: l != ImageFS, images: l == OneFS}
	case trace.SignalImageFS, trace.SignalImageFSInodes:
		return reclaim{containers: l != SplitFS, images: true}
	case trace.SignalContainerFS, trace.SignalContainerFSInodes:
		return reclaim{containers: true, images: l != SplitFS}
	case trace.SignalMemory, trace.SignalAllocatable, trace.SignalPID:
	}
	return reclaim{}
}
