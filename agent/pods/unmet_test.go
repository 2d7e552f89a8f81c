package pods

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// An update that needs a feature that the node does not declare takes place, with a warning.
func TestUnmetFeatures(t *testing.T) {
	const level = "InPlacePodLevelResourcesVerticalScaling"
	for _, c := range []struct {
		declared []string
		want     string
	}{
		{nil, "Pod requires node features that are not available: " + level},
		{[]string{level}, ""},
	} {
		d := newDesk(t, 0)
		d.cfg.Features = admission.NewFeatures(c.declared, version.MustParse("1.37.1"))
		pod := func(cpu string) *v1.Pod {
			return requesting("a", "1", func(p *v1.Pod) {
				p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}
			})
		}
		d.send(podsource.OpAdd, pod("1"))
		d.send(podsource.OpUpdate, pod("2"))
		d.send(podsource.OpUpdate, pod("2"))
		d.asked("a: ADD", "a: UPDATE", "a: UPDATE")
		var got []string
		for _, e := range tracetest.Events[trace.NodeEvent](d.rec) {
			got = append(got, string(e.Type)+" "+e.Reason+" "+e.Message)
		}
		want := []string{"Warning FailedNodeDeclaredFeaturesCheck " + c.want}
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0] != want[0]) {
			t.Errorf("%v: %q, want %q once", c.declared, got, want)
		}
	}
}
