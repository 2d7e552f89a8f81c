package admission

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestRoomFits(t *testing.T) {
	asking := func(cpu string) *v1.Pod {
		p := podWith("p-" + cpu)
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		return p
	}
	room := Room{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("10")}}
	for _, c := range []struct {
		name       string
		cpu, other string
		fits       bool
	}{
		{name: "beside another", cpu: "1", other: "1", fits: true},
		{name: "not beside another", cpu: "1500m", other: "1"},
		{name: "not on an empty node either", cpu: "3", other: "1"},
	} {
		fits, reason, message := room.Fits(asking(c.cpu), []*v1.Pod{asking(c.other)})
		if fits != c.fits || (message == "") != fits || !fits && (!strings.Contains(message, "cpu") || reason != "OutOfcpu") {
			t.Errorf("%s: fits %v, want %v; %s: %s", c.name, fits, c.fits, reason, message)
		}
	}
}
