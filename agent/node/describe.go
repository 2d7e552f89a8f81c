package node

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// describe says in words in what node differs from old. Heartbeat times do not count. Empty is no difference.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, nodeStatusHasChanged.
func describe(old, node *v1.Node) []string {
	out := conditionWords(&old.Status, &node.Status)
	was, is := old.Status, node.Status
	for _, list := range []struct {
		name    string
		old, is v1.ResourceList
	}{{"capacity", was.Capacity, is.Capacity}, {"allocatable", was.Allocatable, is.Allocatable}} {
		out = append(out, resourceWords(list.name, list.old, list.is)...)
	}
	if len(was.Images) != len(is.Images) {
		out = append(out, fmt.Sprintf("images %d → %d", len(was.Images), len(is.Images)))
	} else if !equal(was.Images, is.Images) {
		out = append(out, "images")
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
			out = append(out, part.name)
		}
	}
	return out
}

func equal(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }

func conditionWords(old, s *v1.NodeStatus) (out []string) {
	for _, c := range s.Conditions {
		was := condition(old, c.Type)
		switch {
		case was == nil:
			out = append(out, fmt.Sprintf("%s %s (%s)", c.Type, c.Status, c.Reason))
		case was.Status != c.Status:
			out = append(out, fmt.Sprintf("%s %s → %s (%s)", c.Type, was.Status, c.Status, c.Reason))
		default:
			w := *was
			w.LastHeartbeatTime, c.LastHeartbeatTime = metav1.Time{}, metav1.Time{}
			if !equal(w, c) {
				out = append(out, fmt.Sprintf("%s: %s", c.Type, c.Message))
			}
		}
	}
	return out
}

func resourceWords(what string, old, is v1.ResourceList) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(is)) {
		q := is[name]
		was, ok := old[name]
		switch {
		case !ok && len(old) > 0:
			out = append(out, fmt.Sprintf("%s %s %s", what, name, q.String()))
		case ok && was.Cmp(q) != 0:
			out = append(out, fmt.Sprintf("%s %s %s → %s", what, name, was.String(), q.String()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := is[name]; !ok {
			out = append(out, fmt.Sprintf("%s %s gone", what, name))
		}
	}
	if len(old) == 0 && len(is) > 0 {
		out = append(out, what)
	}
	return out
}
