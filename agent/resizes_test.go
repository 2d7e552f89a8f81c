package agent

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/trace"
)

// amounts is a pod whose container requests CPU and memory; the limits are twice that, or the same.
func amounts(cpu, mem string, guaranteed bool) *v1.Pod {
	c := v1.Container{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(mem)},
	}}
	c.Resources.Limits = c.Resources.Requests.DeepCopy()
	if !guaranteed {
		c.Resources.Limits[v1.ResourceMemory] = resource.MustParse("1Ti")
	}
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c}}}
}

// A resize that is not possible on this node, whatever is free, is refused with its reason.
func TestRefusedResize(t *testing.T) {
	swap := criconfig.Node{CgroupV2: true, Swap: criconfig.Swap{Accounting: true, Limited: true}}
	restarts := func(p *v1.Pod) *v1.Pod {
		p.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
		return p
	}
	sidecar := func(p *v1.Pod) *v1.Pod {
		p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil
		return p
	}
	v1Node := swap
	v1Node.CgroupV2 = false
	for _, c := range []struct {
		name      string
		node      criconfig.Node
		pod, from *v1.Pod
		want      trace.ResizeGround
	}{
		{"memory of a container with swap", swap, amounts("1", "2Gi", false), amounts("1", "1Gi", false), trace.ResizeOfSwap},
		{"of a sidecar with swap", swap, sidecar(amounts("1", "2Gi", false)), sidecar(amounts("1", "1Gi", false)), trace.ResizeOfSwap},
		{"CPU of a container with swap", swap, amounts("2", "1Gi", false), amounts("1", "1Gi", false), ""},
		{"it restarts", swap, restarts(amounts("1", "2Gi", false)), restarts(amounts("1", "1Gi", false)), ""},
		{"cgroup v1 has no swap for it", v1Node, amounts("1", "2Gi", false), amounts("1", "1Gi", false), ""},
		{"no swap", criconfig.Node{}, amounts("1", "2Gi", false), amounts("1", "1Gi", false), ""},
		{"CPUs of its own", swap, amounts("2", "1Gi", true), amounts("1", "1Gi", true), trace.ResizeOfOwnCPUs},
		{"memory of its own", swap, amounts("1", "2Gi", true), amounts("1", "1Gi", true), trace.ResizeOfOwnMemory},
		{"nothing of its own", criconfig.Node{}, amounts("2", "2Gi", false), amounts("1", "1Gi", false), ""},
	} {
		got := refuseResize(policies{cpus.Static, memory.Static, false}, c.node, c.pod, c.from)
		if got.Ground != c.want || (got.Message == "") != (c.want == "") {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
	level := func(cpu, mem string) *v1.Pod {
		p := amounts("1", "1Gi", true)
		p.Spec.Resources = amounts(cpu, mem, true).Spec.Containers[0].Resources.DeepCopy()
		return p
	}
	for _, c := range []struct {
		name     string
		pod      *v1.Pod
		podLevel bool
		want     trace.ResizeGround
	}{
		{"CPUs of the pod", level("3", "2Gi"), true, trace.ResizeOfOwnCPUs},
		{"memory of the pod", level("2", "3Gi"), true, trace.ResizeOfOwnMemory},
		{"nothing of the pod's own", level("3", "3Gi"), false, ""},
		{"the same", level("2", "2Gi"), true, ""},
	} {
		if got := refuseResize(policies{cpus.Static, memory.Static, c.podLevel}, swap, c.pod, level("2", "2Gi")); got.Ground != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
	if got := refuseResize(policies{"none", "None", true}, swap, amounts("2", "2Gi", true), amounts("1", "1Gi", true)); got.Ground != "" {
		t.Errorf("without policies: %+v", got)
	}
}
