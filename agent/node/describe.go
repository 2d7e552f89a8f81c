package node

import (
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// describe returns the differences between node and old. Heartbeat times do not count. Empty means no difference.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, nodeStatusHasChanged.
func describe(old, node *v1.Node) []trace.Change {
	out := conditionChanges(&old.Status, &node.Status)
	was, is := old.Status, node.Status
	out = append(out, resourceChanges(trace.ChangeCapacity, was.Capacity, is.Capacity)...)
	out = append(out, resourceChanges(trace.ChangeAllocatable, was.Allocatable, is.Allocatable)...)
	if len(was.Images) != len(is.Images) {
		out = append(out, trace.Change{What: trace.ChangeField, Name: "images", From: strconv.Itoa(len(was.Images)), To: strconv.Itoa(len(is.Images))})
	} else if !equal(was.Images, is.Images) {
		out = append(out, trace.Change{What: trace.ChangeField, Name: "images"})
	}
	for _, part := range []struct {
		name string
		same bool
	}{
		{"addresses", equal(was.Addresses, is.Addresses)},
		{"nodeInfo", equal(was.NodeInfo, is.NodeInfo)},
		{"daemonEndpoints", equal(was.DaemonEndpoints, is.DaemonEndpoints)},
		{"volumesInUse", equal(was.VolumesInUse, is.VolumesInUse)},
		{"runtimeHandlers", equal(was.RuntimeHandlers, is.RuntimeHandlers)},
		{"features", equal(was.Features, is.Features)},
		{"declaredFeatures", equal(was.DeclaredFeatures, is.DeclaredFeatures)},
		{"labels", equal(old.Labels, node.Labels)},
		{"annotations", equal(old.Annotations, node.Annotations)},
	} {
		if !part.same {
			out = append(out, trace.Change{What: trace.ChangeField, Name: part.name})
		}
	}
	return out
}

func equal(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }

func conditionChanges(old, s *v1.NodeStatus) (out []trace.Change) {
	for _, c := range s.Conditions {
		change := trace.Change{What: trace.ChangeCondition, Name: string(c.Type), To: string(c.Status), Reason: c.Reason}
		if was := condition(old, c.Type); was != nil {
			w := *was
			w.LastHeartbeatTime, c.LastHeartbeatTime = metav1.Time{}, metav1.Time{}
			if equal(w, c) {
				continue
			}
			if change.From = string(w.Status); change.From == change.To {
				change.Message = c.Message
			}
		}
		out = append(out, change)
	}
	return out
}

func resourceChanges(what trace.ChangeKind, old, is v1.ResourceList) (out []trace.Change) {
	if len(old) == 0 && len(is) > 0 {
		return []trace.Change{{What: what}}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		q := is[name]
		was, ok := old[name]
		switch {
		case !ok:
			out = append(out, trace.Change{What: what, Name: string(name), To: q.String()})
		case was.Cmp(q) != 0:
			out = append(out, trace.Change{What: what, Name: string(name), From: was.String(), To: q.String()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := is[name]; !ok {
			was := old[name]
			out = append(out, trace.Change{What: what, Name: string(name), From: was.String()})
		}
	}
	return out
}
