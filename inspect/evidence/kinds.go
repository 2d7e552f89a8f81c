package evidence

import "github.com/kubeloupe/kubeloupe/trace"

// OfNode tells what of the node's own records explains pods. An open watch is a state, and explains nothing.
func OfNode(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.APICall:
		return e.Verb != trace.APIWatch
	case *trace.Loop, *trace.CRICall, *trace.PLEGRelist, *trace.Wait, *trace.GC, *trace.Decision, *trace.Usage, *trace.CgroupOp,
		*trace.Volume, *trace.ImagePull, *trace.Action:
		return true
	}
	return false
}

// Lasting tells what of that explains what comes later, too, from what is over when it happens.
func Lasting(e trace.Event) bool {
	_, verdict := e.(*trace.Decision)
	return verdict
}

// Figures are of the time before them.
func Figures(e trace.Event) bool {
	_, usage := e.(*trace.Usage)
	return usage
}

// Private tells events of a pod that explain nothing of another.
func Private(e trace.Event) bool {
	switch e.(type) {
	case *trace.Sync, *trace.Plan, *trace.Milestone, *trace.PodStatus, *trace.NodeEvent, *trace.StatusPatch, *trace.ProbeAttempt, *trace.RuntimeSpan:
		return true
	}
	return false
}
