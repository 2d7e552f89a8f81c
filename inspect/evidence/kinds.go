package evidence

import "github.com/kubeloupe/kubeloupe/trace"

// OfNode reports whether a record of the node explains pods. An open watch is a state, and explains nothing.
func OfNode(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.APICall:
		return e.Verb != trace.APIWatch
	case *trace.Loop, *trace.CRICall, *trace.PLEGRelist, *trace.Wait, *trace.GC, *trace.Decision, *trace.Usage, *trace.CgroupOp,
		*trace.Volume, *trace.ImagePull, *trace.Action, *trace.Shutdown:
		return true
	}
	return false
}

// Lasting reports whether such a record also explains later events.
func Lasting(e trace.Event) bool {
	_, verdict := e.(*trace.Decision)
	return verdict
}

// Figures reports whether an event has figures about the time before it: usage, and what the kubelet's metrics show of its operations on cgroups,
// without a cgroup.
func Figures(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.Usage:
		return true
	case *trace.CgroupOp:
		return e.Path == ""
	}
	return false
}

// Since returns the begin of the time that a record's figures are about, which ends with the record; for a record
// without figures, its own begin. A starved agent publishes intervals of any length.
func Since(r *trace.Record) int64 {
	if u, ok := r.Event.(*trace.Usage); ok {
		return r.Time - max(0, int64(u.Interval))
	}
	return r.Start() - int64(r.Precision.Duration())
}

// Private reports whether an event of a pod explains nothing about other pods.
func Private(e trace.Event) bool {
	switch e.(type) {
	case *trace.Sync, *trace.Plan, *trace.Milestone, *trace.PodStatus, *trace.NodeEvent, *trace.StatusPatch, *trace.ProbeAttempt, *trace.RuntimeSpan,
		*trace.OOMKill, *trace.DeviceAllocation, *trace.Allocation, *trace.ResourceClaim:
		return true
	}
	return false
}
