package trace

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScrub(t *testing.T) {
	bus := NewBus(16)
	bus.Scrub(func(pod Pod) func(string) string {
		if pod.Name == "plain" {
			return nil
		}
		return func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	})
	shop := ForPod(Span{}, Pod{Name: "shop"})
	needs := []string{"hunter2"}
	attrs := []KV{{K: "hunter2", V: "a hunter2"}}
	steps := []PlanStep{{ID: "create hunter2", Needs: needs, Reason: "hunter2"}}
	Point(bus, shop, Log{Message: "hunter2 here", Attrs: attrs})
	Point(bus, shop, Plan{Why: "hunter2", Steps: steps})
	Point(bus, ForPod(Span{}, Pod{Name: "plain"}), Log{Message: "hunter2"})
	End(bus, Begin(bus, shop, CRICall{Method: "hunter2"}), CRICall{Err: "hunter2"})
	exit := &ContainerExit{Reason: "StartError", Message: "hunter2"}
	Point(bus, shop, PodStatus{Containers: []ContainerStatus{{Name: "web", Last: exit}, {Name: "new"}}})
	labels := LabelsOf(map[string]string{"key": "hunter2"})
	Point(bus, shop, Milestone{Name: MilestoneSeen, Labels: labels})
	cursor := bus.Subscribe(FromOldest)
	recs, _ := cursor.Poll(make([]Record, 0, 16))
	var got []Event
	for _, r := range recs {
		got = append(got, r.Event)
	}
	want := []Event{
		&Log{Message: "*** here", Attrs: []KV{{K: "hunter2", V: "a ***"}}},
		&Plan{Why: "***", Steps: []PlanStep{{ID: "create hunter2", Needs: needs, Reason: "***"}}},
		&Log{Message: "hunter2"},
		&CRICall{Method: "hunter2"},
		&CRICall{Err: "***"},
		&PodStatus{Containers: []ContainerStatus{{Name: "web", Last: &ContainerExit{Reason: "StartError", Message: "***"}}, {Name: "new"}}},
		&Milestone{Name: MilestoneSeen, Labels: &Labels{Items: []KV{{K: "key", V: "***"}}}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b Body) bool { return a.IsZero() == b.IsZero() })); diff != "" {
		t.Error(diff)
	}
	if attrs[0].V != "a hunter2" || steps[0].Reason != "hunter2" || exit.Message != "hunter2" || labels.Items[0].V != "hunter2" {
		t.Error("what the publisher has was changed")
	}
}

func TestScrubbedLines(t *testing.T) {
	b := NewBus(8)
	lines := []string{"dir /x/c4nary", "dir /y"}
	if d := cmp.Diff(lines, b.Scrubbed(Pod{}, lines)); d != "" {
		t.Error(d)
	}
	b.Scrub(func(p Pod) func(string) string {
		if p.UID != "u" {
			return nil
		}
		return func(s string) string { return strings.ReplaceAll(s, "c4nary", "***") }
	})
	if d := cmp.Diff([]string{"dir /x/***", "dir /y"}, b.Scrubbed(Pod{UID: "u"}, lines)); d != "" || lines[0] != "dir /x/c4nary" {
		t.Error(d, lines)
	}
	if d := cmp.Diff(lines, b.Scrubbed(Pod{UID: "other"}, lines)); d != "" {
		t.Error(d)
	}
	cur := b.Subscribe(FromOldest)
	defer cur.Close()
	Point(b, Span{Pod: Pod{UID: "u"}}, RuntimeSpan{Name: "exec c4nary", Service: "c4nary", Attrs: []KV{{K: "event.c4nary", V: "c4nary"}}})
	recs, _, err := cur.Next(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &RuntimeSpan{Name: "exec ***", Service: "***", Attrs: []KV{{K: "event.***", V: "***"}}}
	if d := cmp.Diff(want, recs[0].Event); d != "" {
		t.Error(d)
	}
}

// names are the fields of events that are never redacted: names, IDs, figures as words, and the agent's own texts.
// Closed sets have their own types. A new field must be added here, or have the tag scrub:"text" if it may contain text
// of others.
var names = []string{
	"Agent.Endpoint", "Agent.Node", "Agent.Runtime", "Agent.RuntimeVersion", "Agent.Version",
	"Allocation.Affinity", "Allocation.CPUs", "Allocation.Code", "Allocation.Container", "Allocation.Nodes", "Allocation.Policy", "Allocation.Pool",
	"NUMAMemory.Resource", "NUMANode.CPUs",
	"ResourcesDescribed.CPUPolicy", "ResourcesDescribed.MemoryPolicy", "ResourcesDescribed.Options", "ResourcesDescribed.Pool",
	"ResourcesDescribed.Reserved", "ResourcesDescribed.Scope", "ResourcesDescribed.TopologyPolicy",
	"Allocation.Scope", "NodeMemory.Nodes", "NodeMemory.Resource",
	"ResourceHints.Possible", "ResourceHints.Preferred", "ResourceHints.Provider", "ResourceHints.Resource",
	"APICall.Name", "APICall.Namespace", "APICall.Resource",
	"Action.Code", "Action.Container", "Action.ID", "Action.Target",
	"CRICall.Code", "CRICall.Container", "CRICall.Handler", "CRICall.Image", "CRICall.Method", "CRICall.Plugin", "CRICall.Sandbox",
	"CSICall.Code", "CSICall.Driver", "CSICall.Method", "CSICall.Volume",
	"Certificate.Issuer", "Certificate.Name", "Certificate.Names", "Certificate.Path", "Certificate.Serial",
	"CgroupOp.Path",
	"Change.Field", "Change.From", "Change.FromReason", "Change.Name", "Change.Reason", "Change.To",
	"ContainerSpec.Image", "ContainerSpec.Name",
	"ContainerStatus.ID", "ContainerStatus.Name", "ContainerStatus.Reason",
	"Held.Name", "Held.Reason", "Holder.Call", "Pod.Name", "Pod.Namespace", "Pod.UID",
	"DeviceAllocation.Affinity", "DeviceAllocation.Container", "DeviceAllocation.Nodes", "DeviceAllocation.Resource", "DevicePlugin.Resource", "DevicePlugin.Socket",
	"DRAPlugin.Driver", "DRAPlugin.Health", "DRAPlugin.Service", "DRAPlugin.Socket", "SpanExport.Endpoint",
	"ResourceClaim.Code", "ResourceClaim.Driver", "ResourceClaim.Method", "ResourceClaim.Name", "ResourceClaim.Namespace", "ResourceClaim.UID",
	"ClaimDescribed.Drivers", "ClaimDescribed.FaultDriver", "ClaimDescribed.Name", "ClaimDescribed.Namespace", "ClaimDescribed.UID",
	"ClaimDevice.Device", "ClaimDevice.Driver", "ClaimDevice.Pool", "ClaimDevice.Requests", "ClaimDevice.Share", "ClaimPod.Containers",
	"ContainerExit.ID", "ContainerExit.Reason", "Decision.Code", "Eviction.Evicted", "RankedPod.Pod", "Missing.Namespace",
	"Decision.Orphan", "Decision.Path", "Decision.Volume", "Gate.Action", "Gate.Call", "Gate.Code",
	"ImageProgress.Image", "ImagePull.Image", "ImagePull.Ref",
	"Holder.Call", "KV.K", "KV.V",
	"Loop.Detail",
	"NodeAddress.Address", "NodeAddress.Type",
	"NodeDescribed.Architecture", "NodeDescribed.CgroupDriver", "NodeDescribed.ContainerRuntime", "NodeDescribed.Kernel", "NodeDescribed.KubeletVersion",
	"NodeDescribed.Node", "NodeDescribed.OS", "NodeDescribed.OSImage",
	"NodeEvent.Field", "NodeEvent.Object", "NodeEvent.Reason", "NodeEvent.Volume",
	"NodeResource.Allocatable", "NodeResource.Capacity", "NodeResource.Name",
	"NodeStatus.Refused",
	"Object.Name",
	"OOMKill.Cgroup", "OOMKill.Container", "OOMKill.Limited", "OOMKill.Name",
	"PLEGEvent.Container", "PLEGEvent.Name", "PLEGEvent.Sandbox",
	"PlanStep.ID", "PlanStep.Needs",
	"Pod.Name", "Pod.Namespace", "Pod.UID", "PodSpec.Finalizers", "PodSpec.Volumes",
	"PodStatus.IP", "PodStatus.Reason", "PodStatus.SandboxID",
	"ProbeAttempt.Container", "ProbeAttempt.ContainerID",
	"Resize.Bound", "Resize.Container", "Resize.Priority", "Resize.Resource", "RuntimeHandler.Name",
	"Shutdown.Overran", "Shutdown.Pods", "ServerRequest.From", "ServerRequest.Method", "ServerRequest.Path", "ServerRequest.User",
	"Source.Path",
	"SourceError.Field", "SourceError.Path",
	"Target.Container", "Target.Namespace", "Wait.Doing", "Wait.Plugin", "Wait.Reason",
	"Volume.Driver", "Volume.Name", "Volume.Path", "Volume.Plugin",
	"VolumeProgress.Path",
}

func TestScrubbedFields(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds {
		plainStrings(reflect.TypeOf(k.fresh()).Elem(), seen)
	}
	for field := range seen {
		if !slices.Contains(names, field) {
			t.Errorf(`%s: may it hold what somebody else wrote? Give it the tag scrub:"text", else add it to names`, field)
		}
	}
	for _, field := range names {
		if !seen[field] {
			t.Errorf("%s: no such field without the tag", field)
		}
	}
}

// plainStrings collects the fields of plain strings that are not redacted.
func plainStrings(t reflect.Type, seen map[string]bool) {
	for f := range t.Fields() {
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case inner.Kind() == reflect.Struct && inner.PkgPath() == t.PkgPath():
			plainStrings(inner, seen)
		case inner == reflect.TypeFor[string]() && f.Tag.Get("scrub") == "":
			seen[t.Name()+"."+f.Name] = true
		}
	}
}
