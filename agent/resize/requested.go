package resize

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Requested reports which amounts of the containers differ in two versions of a pod's spec.
//
// Upstream: pkg/kubelet/kubelet.go, recordContainerResizeOperations.
func (m *Manager) Requested(ctx context.Context, old, pod *v1.Pod) {
	span := trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod))
	for _, lists := range [][2][]v1.Container{{old.Spec.InitContainers, pod.Spec.InitContainers}, {old.Spec.Containers, pod.Spec.Containers}} {
		for i := range min(len(lists[0]), len(lists[1])) {
			m.amounts(span, &lists[0][i], &lists[1][i])
		}
	}
}

func (m *Manager) amounts(span trace.Span, old, c *v1.Container) {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		for _, b := range []struct {
			name     string
			has, was v1.ResourceList
		}{{"requests", c.Resources.Requests, old.Resources.Requests}, {"limits", c.Resources.Limits, old.Resources.Limits}} {
			if change := changeOf(b.was[name], b.has[name]); change != "" {
				trace.Point(m.cfg.Bus, span, trace.Resize{
					Op: trace.ResizeRequested, Container: c.Name, Resource: string(name), Bound: b.name, Change: change,
				})
			}
		}
	}
}

// changeOf returns how an amount changes; "" if it does not.
func changeOf(was, is resource.Quantity) trace.ResizeChange {
	switch c := is.Cmp(was); {
	case c == 0:
		return ""
	case is.IsZero():
		return trace.ResizeRemove
	case was.IsZero():
		return trace.ResizeAdd
	case c < 0:
		return trace.ResizeDecrease
	}
	return trace.ResizeIncrease
}
