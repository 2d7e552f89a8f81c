package admission

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

func asking(name, cpu, memory string) *v1.Pod {
	p := podWith(name)
	p.UID = types.UID(name)
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	return p
}

func critical(p *v1.Pod) *v1.Pod {
	p.Spec.Priority = new(int32(2_000_000_000))
	return p
}

func TestNode(t *testing.T) {
	node := &v1.Node{}
	node.Name = "n1"
	node.Labels = map[string]string{"disk": "ssd"}
	tainted := node.DeepCopy()
	tainted.Spec.Taints = []v1.Taint{{Key: "gone", Effect: v1.TaintEffectNoExecute}, {Key: "busy", Effect: v1.TaintEffectNoSchedule}}
	room := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("1Gi"), v1.ResourcePods: resource.MustParse("2"),
	}
	with := func(edit func(*v1.Pod)) *v1.Pod {
		p := podWith("p")
		edit(p)
		return p
	}
	sysctl := func(name string) *v1.Pod {
		return with(func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: name, Value: "1"}}}
		})
	}
	hostNetwork := sysctl("net.ipv4.tcp_syncookies")
	hostNetwork.Spec.HostNetwork = true
	for _, tc := range []struct {
		name    string
		in      Inputs
		reason  string
		says    string
		preempt string
	}{
		{name: "selector", in: Inputs{Node: node, Pod: with(func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })}},
		{name: "another selector", in: Inputs{Node: node, Pod: with(func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} })}, reason: "NodeAffinity", says: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		{name: "another node", in: Inputs{Node: node, Pod: with(func(p *v1.Pod) { p.Spec.NodeName = "n2" })}, reason: "NodeName"},
		{name: "disk pressure", in: Inputs{DiskPressure: true, Pod: asking("p", "1", "1Mi")}, reason: "Evicted", says: "[DiskPressure]"},
		{name: "memory pressure", in: Inputs{MemoryPressure: true, Pod: podWith("p")}, reason: "Evicted", says: "[MemoryPressure]"},
		{name: "pid pressure", in: Inputs{PIDPressure: true, MemoryPressure: true, Pod: asking("p", "1", "1Mi")}, reason: "Evicted", says: "[MemoryPressure PIDPressure]"},
		{name: "memory pressure and a pod that asks for memory", in: Inputs{MemoryPressure: true, Pod: asking("p", "1", "1Mi")}},
		{name: "pressure and a critical pod", in: Inputs{MemoryPressure: true, DiskPressure: true, Pod: critical(podWith("p"))}},
		{name: "taint", in: Inputs{Node: tainted, Pod: podWith("p")}, reason: "TaintToleration"},
		{name: "tolerated", in: Inputs{Node: tainted, Pod: with(func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: "gone", Operator: v1.TolerationOpExists}}
		})}},
		{name: "fits", in: Inputs{Allocatable: room, Pod: asking("p", "1", "512Mi"), Others: []*v1.Pod{asking("a", "1", "512Mi")}}},
		{name: "too little cpu", in: Inputs{Allocatable: room, Pod: asking("p", "1500m", "1Mi"), Others: []*v1.Pod{asking("a", "1", "1Mi")}}, reason: "OutOfcpu", says: "requested: 1500, used: 1000, capacity: 2000"},
		{name: "too little memory", in: Inputs{Allocatable: room, Pod: asking("p", "1", "2Gi")}, reason: "OutOfmemory"},
		{
			name: "fractions of a byte count as whole ones for each pod", reason: "OutOfmemory", says: "requested: 3, used: 4, capacity: 6",
			in: Inputs{Allocatable: v1.ResourceList{v1.ResourceCPU: room[v1.ResourceCPU], v1.ResourceMemory: resource.MustParse("6")}, Pod: asking("p", "1m", "3"), Others: []*v1.Pod{asking("a", "1m", "1500m"), asking("b", "1m", "1500m")}},
		},
		{name: "more in use than can be counted", in: Inputs{Allocatable: v1.ResourceList{v1.ResourceMemory: room[v1.ResourceMemory]}, Pod: with(func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1")}
		}), Others: []*v1.Pod{asking("a", "1m", "8E"), asking("b", "1m", "8E")}}, reason: "OutOfmemory", says: "used: 9223372036854775807"},
		{name: "places", in: Inputs{Allocatable: room, Pod: podWith("p"), Others: []*v1.Pod{podWith("a"), podWith("b")}}, reason: "OutOfpods"},
		{name: "what the node does not have", in: Inputs{Allocatable: room, Pod: with(func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/fpga": resource.MustParse("1")}
		})}},
		{name: "what a ResourceClaim has", in: Inputs{Allocatable: room, Pod: claimed("p", "deviceclass.resource.kubernetes.io/gpu", "c")}},
		{
			name: "what another container's ResourceClaim has", in: Inputs{Allocatable: room, Pod: claimed("p", "deviceclass.resource.kubernetes.io/gpu", "other")},
			reason: "OutOfdeviceclass.resource.kubernetes.io/gpu",
		},
		{name: "the node's own beside a ResourceClaim's", in: Inputs{
			Allocatable: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}, Pod: claimed("p", "example.com/gpu", "other"), Others: []*v1.Pod{claimed("a", "example.com/gpu", "c")},
		}},
		{name: "sysctl", in: Inputs{Pod: sysctl("kernel.shm_rmid_forced")}},
		{name: "unsafe sysctl", in: Inputs{Pod: sysctl("kernel.msgmax")}, reason: "SysctlForbidden", says: `"kernel.msgmax" not allowlisted`},
		{name: "allowed unsafe sysctl", in: Inputs{Pod: sysctl("kernel/msgmax"), Sysctls: []string{"kernel.msg*"}}},
		{name: "the host's sysctl", in: Inputs{Pod: hostNetwork}, reason: "SysctlForbidden", says: "not allowed with host"},
		{
			name: "a critical pod needs room", preempt: "small",
			in: Inputs{Allocatable: room, Pod: critical(asking("p", "1", "1Mi")), Others: []*v1.Pod{asking("small", "1", "1Mi"), critical(asking("other", "1", "1Mi"))}, MaxPods: 9},
		},
		{
			name: "a critical pod and nobody gives way", reason: "OutOfcpu", says: "no set of running pods",
			in: Inputs{Allocatable: room, Pod: critical(asking("p", "3", "1Mi")), Others: []*v1.Pod{asking("small", "500m", "1Mi")}},
		},
		{
			name: "a critical pod on the wrong node", reason: "NodeName",
			in: Inputs{Node: node, Allocatable: room, Pod: with(func(p *v1.Pod) {
				*p = *critical(asking("p", "2", "1Mi"))
				p.Spec.NodeName = "n2"
			}), Others: []*v1.Pod{asking("small", "1", "1Mi")}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "a critical pod needs room" {
				tc.in.Allocatable = v1.ResourceList{v1.ResourceCPU: room[v1.ResourceCPU], v1.ResourceMemory: room[v1.ResourceMemory]}
			}
			got := Check(tc.in)
			if got.Reason != tc.reason || got.OK != (tc.reason == "") || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %+v, want reason %q with %q", got, tc.reason, tc.says)
			}
			var names []string
			for _, p := range got.Preempt {
				names = append(names, p.Name)
			}
			if strings.Join(names, " ") != tc.preempt {
				t.Errorf("preempts %v, want %q", names, tc.preempt)
			}
		})
	}
}

// claimed returns a pod that requests a device, for which the scheduler made a ResourceClaim for that container.
func claimed(name string, device v1.ResourceName, container string) *v1.Pod {
	p := podWith(name)
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{device: resource.MustParse("1")}}}}
	p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{
		ResourceClaimName: "made", RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: container, ResourceName: string(device), RequestName: "r"}},
	}
	return p
}

// Extended resources count if the node's status has them, and devices as their manager says after it has reserved some.
func TestExtended(t *testing.T) {
	const gpu = v1.ResourceName("example.com/gpu")
	asks := func(name string, n string) *v1.Pod {
		p := podWith(name)
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{gpu: resource.MustParse(n)}
		return p
	}
	node := func(n string) *v1.Node {
		return &v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{gpu: resource.MustParse(n), v1.ResourceCPU: resource.MustParse("1m")}}}
	}
	devices := func(n string) func(v1.ResourceList) {
		return func(l v1.ResourceList) {
			if n == "" {
				delete(l, gpu)
				return
			}
			l[gpu] = resource.MustParse(n)
		}
	}
	room := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	const none = "Node didn't have enough resource: example.com/gpu, requested: 1, used: 0, capacity: 0"
	for _, tc := range []struct {
		name string
		in   Inputs
		want string
	}{
		{name: "of the cluster", in: Inputs{Pod: asks("p", "1"), Node: &v1.Node{}, Allocatable: room}},
		{name: "its plugin is gone", in: Inputs{Pod: asks("p", "1"), Node: node("0"), Allocatable: room}, want: none},
		{name: "its plugin is gone, as the manager knows", in: Inputs{Pod: asks("p", "1"), Node: &v1.Node{}, Allocatable: room, Devices: devices("0")}, want: none},
		{name: "of the node", in: Inputs{Pod: asks("p", "1"), Node: node("1"), Allocatable: room}},
		{
			name: "of the node, and taken", in: Inputs{Pod: asks("p", "1"), Node: node("2"), Allocatable: room, Others: []*v1.Pod{asks("o", "2")}},
			want: "Node didn't have enough resource: example.com/gpu, requested: 1, used: 2, capacity: 2",
		},
		{name: "devices that are not in the status yet", in: Inputs{Pod: asks("p", "1"), Node: node("0"), Allocatable: room, Devices: devices("1")}},
		{name: "a plugin that the pod waits for", in: Inputs{Pod: asks("p", "1"), Node: node("0"), Allocatable: room, Devices: devices("")}},
		{name: "the node's CPUs are those of the agent", in: Inputs{Pod: asking("p", "1", "0"), Node: node("0"), Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1")}}},
		{name: "resources are not checked", in: Inputs{Pod: asks("p", "1"), Node: node("0"), Devices: devices("0")}},
	} {
		reserved := false
		tc.in.Reserve = func() Verdict {
			reserved = true
			return Verdict{OK: true}
		}
		if set := tc.in.Devices; set != nil {
			tc.in.Devices = func(l v1.ResourceList) {
				if !reserved {
					t.Errorf("%s: called before devices are reserved", tc.name)
				}
				set(l)
			}
		}
		v := Check(tc.in)
		if v.Message != tc.want || v.OK != (tc.want == "") || !v.OK && v.Reason != "OutOfexample.com/gpu" {
			t.Errorf("%s: %+v, want %q", tc.name, v, tc.want)
		}
	}
	if len(room) != 1 {
		t.Errorf("the node's resources have changed: %v", room)
	}
}

// A node whose labels do not match is looked up in the API, unless something else is wrong, too.
func TestFreshNode(t *testing.T) {
	node := func(disk string) *v1.Node {
		n := &v1.Node{}
		n.Name, n.Labels = "n1", map[string]string{"disk": disk}
		return n
	}
	pod := podWith("p")
	pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	elsewhere := pod.DeepCopy()
	elsewhere.Spec.NodeName = "n2"
	gone := node("ssd")
	gone.Spec.Taints = []v1.Taint{{Key: "gone", Effect: v1.TaintEffectNoExecute}}
	for _, c := range []struct {
		name       string
		pod        *v1.Pod
		has, fresh *v1.Node
		asked      int
		reason     string
	}{
		{"it matches", pod, node("ssd"), node("hdd"), 0, ""},
		{"it matches now", pod, node("hdd"), node("ssd"), 1, ""},
		{"it still does not match", pod, node("hdd"), node("hdd"), 1, "NodeAffinity"},
		{"it matches now, but has a taint", pod, node("hdd"), gone, 1, "TaintToleration"},
		{"the API does not respond", pod, node("hdd"), nil, 1, "NodeAffinity"},
		{"its name is another one, too", elsewhere, node("hdd"), node("ssd"), 0, "NodeAffinity"},
	} {
		asked := 0
		got := Check(Inputs{Pod: c.pod, Node: c.has, Fresh: func() *v1.Node {
			asked++
			return c.fresh
		}})
		if got.Reason != c.reason || got.OK != (c.reason == "") || asked != c.asked {
			t.Errorf("%s: %+v after %d requests, want %q after %d", c.name, got, asked, c.reason, c.asked)
		}
	}
}
