package agent

import (
	"context"
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cpus"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/memory"
	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/resize"
	"github.com/kubeloupe/kubeloupe/agent/topology"
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
		got := refuseResize(policies{cpu: cpus.Static, memory: memory.Static}, c.node, c.pod, c.from)
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
		if got := refuseResize(policies{cpu: cpus.Static, memory: memory.Static, podLevel: c.podLevel}, swap, c.pod, level("2", "2Gi")); got.Ground != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name      string
		of        policies
		pod, from *v1.Pod
		want      trace.ResizeGround
	}{
		{"CPUs", policies{resizesCPUs: true}, amounts("2", "1Gi", true), amounts("1", "1Gi", true), ""},
		{"CPUs and memory", policies{resizesCPUs: true}, amounts("2", "2Gi", true), amounts("1", "1Gi", true), trace.ResizeOfOwnMemory},
		{"memory", policies{resizesMemory: true}, amounts("1", "2Gi", true), amounts("1", "1Gi", true), ""},
		{"memory and CPUs", policies{resizesMemory: true}, amounts("2", "2Gi", true), amounts("1", "1Gi", true), trace.ResizeOfOwnCPUs},
		{"CPUs of the pod", policies{resizesCPUs: true, podLevel: true}, level("3", "2Gi"), level("2", "2Gi"), trace.ResizeOfOwnCPUs},
		{"memory of the pod", policies{resizesMemory: true, podLevel: true}, level("2", "3Gi"), level("2", "2Gi"), trace.ResizeOfOwnMemory},
	} {
		c.of.cpu, c.of.memory = cpus.Static, memory.Static
		if got := refuseResize(c.of, criconfig.Node{}, c.pod, c.from); got.Ground != c.want {
			t.Errorf("with the feature gate, %s: %+v, want %q", c.name, got, c.want)
		}
	}
	volume := func(limit string) *v1.Pod {
		p := amounts("1", "1Gi", true)
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{
			Medium: v1.StorageMediumMemory, SizeLimit: new(resource.MustParse(limit)),
		}}}}
		return p
	}
	for _, c := range []struct {
		to   string
		v2   bool
		want trace.ResizeGround
	}{{"2Mi", false, trace.ResizeOfVolumeV1}, {"2Mi", true, ""}, {"1Mi", false, ""}} {
		if got := refuseResize(policies{}, criconfig.Node{CgroupV2: c.v2}, volume(c.to), volume("1Mi")); got.Ground != c.want {
			t.Errorf("volume of %s, cgroup v2 %t: %+v, want %q", c.to, c.v2, got, c.want)
		}
	}
	if got := refuseResize(policies{cpu: cpus.None, memory: memory.None, podLevel: true}, swap, amounts("2", "2Gi", true), amounts("1", "1Gi", true)); got.Ground != "" {
		t.Errorf("without policies: %+v", got)
	}
}

// noPods knows no pods yet.
type noPods struct{}

func (noPods) Active() []*v1.Pod           { return nil }
func (noPods) Complete() bool              { return false }
func (noPods) Get(types.UID) *podstate.Pod { return nil }

// With the feature gate, a resize that is accepted changes the CPUs that the container has for itself; one that the managers cannot fulfill
// is infeasible, and changes nothing.
func TestResizedCPUs(t *testing.T) {
	dir, machine := t.TempDir(), numa.Flat(8, 1<<34)
	c, err := cpus.New(cpus.Config{
		Policy: cpus.Static, Machine: machine, ReservedNumber: 1, Dir: dir, Resize: true, Pods: noPods{}, Seen: noPods{}, Period: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	top, err := topology.New(topology.Config{Policy: topology.None, Machine: machine, Providers: []topology.Provider{{Name: "cpu", HintProvider: c}}})
	if err != nil {
		t.Fatal(err)
	}
	of := policies{cpu: cpus.Static, memory: memory.None, resizesCPUs: true}
	m, err := resize.New(resize.Config{
		Dir: dir, Admit: func(*v1.Pod, []*v1.Pod) resize.Verdict { return resize.Verdict{Fits: true} },
		Refuse: func(pod, allocated *v1.Pod) resize.Refusal { return refuseResize(of, criconfig.Node{}, pod, allocated) },
		Try: func(ctx context.Context, pod, allocated *v1.Pod) (func(bool), bool, string) {
			return tryResize(ctx, of, top, pod, allocated)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := func(cpu string) *v1.Pod {
		p := amounts(cpu, "1Gi", true)
		p.UID, p.Name = "u", "p"
		return p
	}
	if err := top.Admit(t.Context(), m.Add(pod("2"))); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct{ cpu, allocated, cpus, reason, message string }{
		{"4", "4", "1-4", "", ""},
		{"3", "3", "1-3", "", ""},
		{"1", "3", "1-3", v1.PodReasonInfeasible, "container c: a container keeps the CPUs that it got at admission for itself: requested 1 CPUs, must be at least 2 (CPUs 1-2)"},
		{"8", "3", "1-3", v1.PodReasonInfeasible, "container c: not enough cpus available to satisfy request: requested=5, available=4"},
		{"2", "2", "1-2", "", ""},
	} {
		got, _ := m.Update(t.Context(), pod(s.cpu), nil, trace.ResizeForUpdated)
		reason, message := "", ""
		for _, c := range m.Conditions("u") {
			if c.Type == v1.PodResizePending {
				reason, message = c.Reason, c.Message
			}
		}
		list, own := c.CPUs("u", "c")
		if cpu := got.Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != s.allocated || list != s.cpus || !own || reason != s.reason || message != s.message {
			t.Errorf("%s CPUs: allocated %s, CPUs %s (own: %t), %s: %s; want %+v", s.cpu, cpu, list, own, reason, message, s)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // the checkpoints cannot be written
		t.Fatal(err)
	}
	if got, _ := m.Update(t.Context(), pod("3"), nil, trace.ResizeForUpdated); got.Spec.Containers[0].Resources.Requests.Cpu().String() != "2" {
		t.Error("a resize that cannot be saved is accepted")
	}
	if list, _ := c.CPUs("u", "c"); list != "1-2" {
		t.Errorf("CPUs %s after a resize that cannot be saved", list)
	}
}
