package eviction

import "github.com/kubeloupe/kubeloupe/trace"

// Mark is where memory crosses a threshold.
type Mark struct {
	// Signal is the node's memory, or that of all pods together.
	Signal trace.Signal
	// Headroom is by how many bytes the usage may grow until there is less than the threshold. It is negative below the threshold.
	Headroom int64
}

// Watcher has the kernel report when memory crosses marks, in either direction.
type Watcher interface {
	// Set replaces the marks. It does not block.
	Set(marks []Mark)
	// C delivers the notifications, at most one that is not taken.
	C() <-chan struct{}
}

// marks returns where memory crosses thresholds, from what there is now.
//
// Upstream: pkg/kubelet/eviction/memory_threshold_notifier_others.go, UpdateThreshold.
func marks(all []Threshold, seen observations) []Mark {
	var out []Mark
	for i := range all {
		t := &all[i]
		if got, ok := seen[t.Signal]; ok && memory(t.Signal) {
			out = append(out, Mark{t.Signal, got.available - t.Free.of(got.capacity)})
		}
	}
	return out
}
