package say

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Brief describes an event in a few words, without its kind.
func Brief(e trace.Event) string { return noise.Of(brief(e)) }

// Named is [Brief] after the kind and the pod: "pod.sync shop/web create ADD".
func Named(pod trace.Pod, e trace.Event) string {
	return noise.Of(words(e.Kind().String(), pod.String(), brief(e)))
}

// Every describes a record of any event: its kind, what it is about, whether it begins, and its error.
func Every(r *trace.Record) string {
	text := words(r.Event.Kind().String(), brief(r.Event))
	if r.Edge == trace.EdgeBegin {
		return noise.Of(text + " begins")
	}
	return noise.Of(failed(text, trace.Failure(r.Event)))
}

func brief(e trace.Event) string {
	switch e := e.(type) {
	case *trace.Agent:
		return words(string(e.State), e.Reason)
	case *trace.Source:
		return words(string(e.Source), string(e.Op), e.Path)
	case *trace.SourceError:
		return SourceError(e)
	case *trace.Loop:
		return words(string(e.Case), string(e.Op), e.Detail)
	case *trace.Log:
		return e.Message
	case *trace.Pressure:
		return string(e.Signal)
	case *trace.Decision:
		return words(decided(e)+":", e.Reason)
	case *trace.GC:
		return words(string(e.What), string(e.Cause))
	case *trace.NodeEvent:
		return words(e.Reason+":", NodeEvent(e))
	case *trace.Milestone:
		return string(e.Name)
	case *trace.Worker:
		return string(e.From) + " → " + string(e.To)
	case *trace.Sync:
		return words(string(e.Why), e.Cause)
	case *trace.Plan:
		return fmt.Sprintf("%d steps", len(e.Steps))
	case *trace.Action:
		return e.ID
	case *trace.Wait:
		return Waiting(e)
	case *trace.Gate:
		return words(e.Action, string(e.Verdict))
	case *trace.PodStatus:
		return fmt.Sprintf("%s %d/%d", e.Phase, e.Ready, e.Total)
	case *trace.CRICall:
		return words(e.Method, cmp.Or(e.Image, e.Container, e.Sandbox))
	case *trace.APICall:
		return words(string(e.Verb), e.Resource, strings.Trim(e.Namespace+"/"+e.Name, "/"))
	case *trace.NodeStatus:
		return words(string(e.Op), e.Refused, Changes(e.Changed, e.Clipped))
	case *trace.PLEGRelist:
		return string(e.Cause)
	case *trace.PLEGEvent:
		return cmp.Or(exited(e), words(string(e.Type), cmp.Or(e.Name, e.Container, e.Sandbox)))
	case *trace.Allocation:
		return words(string(e.Manager), string(e.Outcome), cmp.Or(e.CPUs, e.Nodes, e.Code))
	case *trace.Eviction:
		return words(string(e.Signal), string(e.Outcome), e.Evicted)
	case *trace.SpanExport:
		return words(e.Endpoint, string(e.State))
	case *trace.DevicePlugin:
		return words(e.Resource, string(e.Op))
	case *trace.DeviceAllocation:
		return words(e.Container, e.Resource, string(e.Outcome))
	case *trace.DRAPlugin:
		return words(e.Driver, string(e.Op))
	case *trace.ResourceClaim:
		return words(e.Name, string(e.Op), e.Driver)
	case *trace.ClaimDescribed:
		return words(e.Name, string(e.State), e.FaultDriver)
	case *trace.OOMKill:
		return words(e.Process, cmp.Or(e.Name, e.Container, e.Cgroup))
	case *trace.Resize:
		return words(string(e.Op), e.Container, string(e.Change), e.Resource, e.Bound, string(e.Ground), string(e.End))
	case *trace.PLEGMode:
		return words(string(e.Mode), e.Reason)
	case *trace.ImagePull:
		return e.Image
	case *trace.ImageProgress:
		return e.Image
	case *trace.Volume:
		return words(string(e.Op), e.Name)
	case *trace.CgroupOp:
		return words(string(e.Op), e.Path)
	case *trace.StatusPatch:
		return words(string(e.Op), Changes(e.Changed, e.Clipped))
	case *trace.CSICall:
		return words(e.Method, e.Driver, e.Volume)
	case *trace.VolumeProgress:
		return Files(e)
	case *trace.ServerRequest:
		return words(e.Method, e.Path, e.User)
	case *trace.RuntimeSpan:
		return words(e.Service, e.Name)
	case *trace.Usage:
		return fmt.Sprintf("cpu %s in %s, memory %s", human.Duration(e.CPU), human.Duration(e.Interval), human.Bytes(e.RSS))
	case *trace.ProbeAttempt:
		return words(string(e.Probe), e.Container, string(e.Result))
	}
	return briefNode(e)
}

// briefNode describes an event about the node in a few words.
func briefNode(e trace.Event) string {
	switch e := e.(type) {
	case *trace.NodeDescribed:
		return words(e.Node, strings.Join(e.Changed, ", "))
	case *trace.RuntimeDescribed:
		return cmp.Or(strings.Join(e.Changed, ", "), fmt.Sprintf("%d handlers", len(e.Handlers)))
	case *trace.ResourcesDescribed:
		return words(fmt.Sprintf("%d NUMA nodes", len(e.Nodes)), Policies(e))
	case *trace.Shutdown:
		return words(string(e.State), strings.Join(e.Overran, ", "))
	case *trace.Certificate:
		return words(string(e.Use), string(e.Cause), e.Name, e.None)
	}
	return ""
}

// NodeEvent returns a Kubernetes Event's message, after the container in its field, or the object that it is about.
func NodeEvent(e *trace.NodeEvent) string {
	if e.Object != "" {
		return noise.Of(e.Object + ": " + e.Message)
	}
	if _, rest, ok := strings.Cut(e.Field, "{"); ok {
		return noise.Of(strings.TrimSuffix(rest, "}") + ": " + e.Message)
	}
	return noise.Of(e.Message)
}

// words joins the non-empty parts with spaces.
func words(parts ...string) string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}
