package export

import (
	"cmp"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// nameOf says in a few words what an event is, as traces name their spans: of few different values, so
// without ids.
func nameOf(e trace.Event) string {
	var parts []string
	switch e := e.(type) {
	case *trace.Action:
		parts = []string{e.ID}
	case *trace.CRICall:
		parts = []string{e.Method}
	case *trace.CSICall:
		parts = []string{e.Method}
	case *trace.APICall:
		parts = []string{string(e.Verb), e.Resource}
	case *trace.Wait:
		parts = []string{"wait", string(e.For)}
	case *trace.ImagePull:
		parts = []string{"pull", human.Image(e.Image)}
	case *trace.Volume:
		parts = []string{string(e.Op), e.Name}
	case *trace.CgroupOp:
		parts = []string{"cgroup", string(e.Op)}
	case *trace.Sync:
		parts = []string{"sync", string(e.Why)}
	case *trace.Loop:
		parts = []string{"loop", string(e.Case), string(e.Op)}
	case *trace.GC:
		parts = []string{string(e.What), "gc"}
	case *trace.PLEGRelist:
		parts = []string{"relist", string(e.Cause)}
	case *trace.ProbeAttempt:
		parts = []string{string(e.Probe), "probe", e.Container}
	case *trace.StatusPatch:
		parts = []string{"status", string(e.Op)}
	case *trace.NodeStatus:
		parts = []string{"node status", string(e.Op)}
	case *trace.ServerRequest:
		parts = []string{e.Method, string(e.Server)}
	case *trace.Source:
		parts = []string{"source", string(e.Source), string(e.Op)}
	case *trace.RuntimeSpan:
		parts = []string{e.Name}
	default:
		return pointName(e)
	}
	return cmp.Or(human.Line(strings.Join(strings.Fields(strings.Join(parts, " ")), " ")), e.Kind().String())
}

// pointName is nameOf for what has no duration.
func pointName(e trace.Event) string {
	name := e.Kind().String()
	switch e := e.(type) {
	case *trace.Milestone:
		name = string(e.Name)
	case *trace.PodStatus:
		name = "status " + string(e.Phase)
	case *trace.Worker:
		name = "worker " + string(e.To)
	case *trace.Decision:
		name = string(e.By) + " " + string(e.Verdict)
	case *trace.NodeEvent:
		name = e.Reason
	case *trace.PLEGEvent:
		name = string(e.Type)
	case *trace.SpanExport:
		name = "span export " + string(e.State)
	case *trace.DevicePlugin:
		name = "device plugin " + string(e.Op)
	case *trace.DeviceAllocation:
		name = "devices " + string(e.Outcome)
	case *trace.DRAPlugin:
		name = "DRA driver " + string(e.Op)
	case *trace.ResourceClaim:
		name = "claim " + string(e.Op)
	case *trace.ClaimDescribed:
		name = "claim is " + string(e.State)
	case *trace.Agent:
		name = "agent " + string(e.State)
	}
	return cmp.Or(human.Line(name), e.Kind().String())
}
