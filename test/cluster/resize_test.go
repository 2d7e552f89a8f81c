package cluster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// TestResizeWaits has a resize that waits for room: it waits on when another agent comes, and gets it when there is some.
func TestResizeWaits(t *testing.T) {
	b := setup(t)
	a := b.node(t)
	node, err := b.client.CoreV1().Nodes().Get(t.Context(), lab.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	most := *node.Status.Allocatable.Cpu()
	most.Sub(resource.MustParse("500m"))
	s := b.space(t)
	p, other := pod("p", forever), pod("other", forever)
	p.Spec.Containers[0].Resources = resources("50m", "32Mi")
	other.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: most}
	s.create(p, other)
	s.ready("p", "other")
	s.kubectl("patch", "pod", "p", "--subresource=resize", "--patch",
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"600m"},"limits":{"cpu":"600m"}}}]}}`)
	deferred := func(p *v1.Pod) v1.PodCondition {
		for _, c := range p.Status.Conditions {
			if c.Type == v1.PodResizePending && c.Reason == v1.PodReasonDeferred {
				return c
			}
		}
		return v1.PodCondition{}
	}
	was := s.wait("p", "a resize that waits", func(p *v1.Pod) bool { return deferred(p).Reason != "" })

	a.stop()
	b.start(t, lab.AgentConfig{}).ready()
	s.create(pod("later", forever)) // once it runs, what there was has been looked at
	s.ready("later")
	now := s.wait("p", "ready", isReady)
	if before, after := deferred(was), deferred(now); !after.LastTransitionTime.Equal(&before.LastTransitionTime) || identity(now) != identity(was) {
		t.Errorf("%s, was %s: %s", identity(now), identity(was), short(now))
	}
	if got := now.Status.ContainerStatuses[0].AllocatedResources.Cpu().String(); got != "50m" {
		t.Errorf("allocated %s", got)
	}

	s.delete(0, "other")
	s.wait("p", "resized", func(p *v1.Pod) bool {
		r := p.Status.ContainerStatuses[0].Resources
		return r != nil && r.Limits.Cpu().String() == "600m" && deferred(p).Reason == ""
	})
}
