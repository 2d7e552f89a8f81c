package admission

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A resize passes the checks of a new pod again, in the same order.
func TestResize(t *testing.T) {
	asking := func(cpu string) *v1.Pod {
		p := podWith("p-" + cpu)
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		return p
	}
	node := func(edit func(*v1.Node)) *v1.Node {
		n := &v1.Node{}
		n.Labels = map[string]string{"disk": "ssd"}
		edit(n)
		return n
	}
	tainted := node(func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "gone", Effect: v1.TaintEffectNoExecute}} })
	selecting := asking("1")
	selecting.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	restarting := asking("1")
	restarting.Spec.Containers = append(restarting.Spec.Containers, restartingAll("d"))
	for _, c := range []struct {
		name   string
		in     Inputs
		reason string
		says   string
		ends   []string // the preempted pods
	}{
		{name: "beside another", in: Inputs{Pod: asking("1"), Others: []*v1.Pod{asking("1")}}},
		{name: "not beside another", in: Inputs{Pod: asking("1500m"), Others: []*v1.Pod{asking("1")}}, reason: "OutOfcpu", says: "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000"},
		{name: "not on an empty node either", in: Inputs{Pod: asking("3")}, reason: "OutOfcpu", says: "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"},
		{name: "a critical pod preempts one that suffices", in: Inputs{Pod: critical(asking("1300m")), Others: []*v1.Pod{asking("600m"), asking("700m")}}, ends: []string{"p-600m"}},
		{name: "a critical pod preempts no critical one", in: Inputs{Pod: critical(asking("2")), Others: []*v1.Pod{critical(asking("1"))}}, reason: "OutOfcpu", says: "Node didn't have enough resource: cpu, requested: 2000, used: 1000, capacity: 2000, and no set of running pods found to reclaim resources: [(res: cpu, q: 1000)]"},
		{name: "the scheduler preempts", in: Inputs{Pod: critical(asking("2")), Others: []*v1.Pod{asking("1")}, ScheduledPreemption: true}, reason: "OutOfcpu", says: "Node didn't have enough resource: cpu, requested: 2000, used: 1000, capacity: 2000"},
		{name: "no pod is preempted in a shutdown", in: Inputs{Pod: critical(asking("2")), Others: []*v1.Pod{asking("1")}, ShuttingDown: true}, reason: "NodeShutdown", says: "Pod was rejected as the node is shutting down."},
		{name: "disk pressure", in: Inputs{Pod: asking("1"), DiskPressure: true}, reason: "Evicted", says: "The node had condition: [DiskPressure]. "},
		{name: "PID pressure, and no room", in: Inputs{Pod: asking("3"), PIDPressure: true}, reason: "Evicted", says: "The node had condition: [PIDPressure]. "},
		{name: "memory pressure", in: Inputs{Pod: asking("1"), MemoryPressure: true}},
		{name: "pressure and a critical pod", in: Inputs{Pod: critical(asking("1")), DiskPressure: true}},
		{name: "a label that is gone", in: Inputs{Pod: selecting, Node: node(func(n *v1.Node) { n.Labels = nil })}, reason: "NodeAffinity", says: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		{name: "the label", in: Inputs{Pod: selecting, Node: node(func(*v1.Node) {})}},
		{name: "a new taint", in: Inputs{Pod: asking("1"), Node: tainted}, reason: "TaintToleration", says: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		{name: "a feature that is not declared any more", in: Inputs{Pod: restarting, Features: declaring(), ShuttingDown: true}, reason: "PodFeatureUnsupported", says: "Pod requires node features that are not available: RestartAllContainersOnContainerExits"},
		{name: "a shutdown", in: Inputs{Pod: critical(asking("1")), ShuttingDown: true}, reason: "NodeShutdown", says: "Pod was rejected as the node is shutting down."},
		{name: "its own devices", in: Inputs{
			Pod: claimed("p", "example.com/gpu", "other"), Devices: func(all v1.ResourceList) { all["example.com/gpu"] = resource.MustParse("1") },
		}},
	} {
		c.in.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("10")}
		c.in.Reserve = func() Verdict {
			t.Errorf("%s: something is reserved", c.name)
			return Verdict{OK: true}
		}
		v := Resize(c.in)
		var ends []string
		for _, p := range v.Preempt {
			ends = append(ends, p.Name)
		}
		if v.OK != (c.reason == "") || v.Reason != c.reason || v.Message != c.says || !slices.Equal(ends, c.ends) {
			t.Errorf("%s: %+v, want %s: %s", c.name, v, c.reason, c.says)
		}
	}
}
