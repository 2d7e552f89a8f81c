package admission

import (
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podWith(name string, ports ...v1.ContainerPort) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	p.Spec.Containers = []v1.Container{{Name: "c", Ports: ports}}
	return p
}

func TestCheck(t *testing.T) {
	onOS := func(name string) *v1.Pod {
		p := podWith("p")
		p.Spec.OS = &v1.PodOS{Name: v1.OSName(name)}
		return p
	}
	asInit := func(p *v1.Pod, policy *v1.ContainerRestartPolicy) *v1.Pod {
		p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil
		p.Spec.InitContainers[0].RestartPolicy = policy
		return p
	}
	critical := func(p *v1.Pod) *v1.Pod {
		p.Spec.Priority = new(int32(2_000_001_000))
		return p
	}
	always := v1.ContainerRestartPolicyAlways
	web := v1.ContainerPort{HostPort: 80}
	for _, tc := range []struct {
		name   string
		in     Inputs
		reason string
		says   string
	}{
		{name: "all checks passed", in: Inputs{Pod: podWith("p", web), MaxPods: 1}},
		{name: "the node shuts down", in: Inputs{Pod: podWith("p"), ShuttingDown: true}, reason: "NodeShutdown", says: "Pod was rejected as the node is shutting down."},
		{name: "the node shuts down, and another check fails", in: Inputs{Pod: onOS("plan9"), ShuttingDown: true}, reason: "PodOSNotSupported"},
		{name: "no pod is preempted while the node shuts down", in: Inputs{Pod: critical(podWith("p")), Others: []*v1.Pod{podWith("a")}, MaxPods: 1, ShuttingDown: true}, reason: "NodeShutdown"},
		{name: "this OS", in: Inputs{Pod: onOS(runtime.GOOS)}},
		{name: "another OS", in: Inputs{Pod: onOS("plan9")}, reason: "PodOSNotSupported", says: "Failed to admit pod as the OS field doesn't match node OS"},
		{name: "the last place", in: Inputs{Pod: podWith("p"), Others: []*v1.Pod{podWith("a")}, MaxPods: 2}},
		{name: "no place", in: Inputs{Pod: podWith("p"), Others: []*v1.Pod{podWith("a"), podWith("b")}, MaxPods: 2}, reason: "OutOfpods", says: "used: 2, capacity: 2"},
		{name: "no limit", in: Inputs{Pod: podWith("p"), Others: []*v1.Pod{podWith("a")}}},
		{name: "port taken", in: Inputs{Pod: podWith("p", web), Others: []*v1.Pod{podWith("a"), podWith("b", web)}}, reason: "NodePorts", says: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		{name: "port named with its default protocol", in: Inputs{Pod: podWith("p", web), Others: []*v1.Pod{podWith("a", v1.ContainerPort{HostPort: 80, Protocol: v1.ProtocolTCP})}}, reason: "NodePorts"},
		{name: "same port, other protocol", in: Inputs{Pod: podWith("p", web), Others: []*v1.Pod{podWith("a", v1.ContainerPort{HostPort: 80, Protocol: v1.ProtocolUDP})}}},
		{
			name: "same port, other address",
			in:   Inputs{Pod: podWith("p", v1.ContainerPort{HostPort: 80, HostIP: "10.0.0.1"}), Others: []*v1.Pod{podWith("a", v1.ContainerPort{HostPort: 80, HostIP: "10.0.0.2"})}},
		},
		{
			name: "any address takes all", reason: "NodePorts",
			in: Inputs{Pod: podWith("p", v1.ContainerPort{HostPort: 80, HostIP: "10.0.0.1"}), Others: []*v1.Pod{podWith("a", v1.ContainerPort{HostPort: 80, HostIP: "0.0.0.0"})}},
		},
		{
			name: "any IPv6 address is an address like others",
			in:   Inputs{Pod: podWith("p", v1.ContainerPort{HostPort: 80, HostIP: "::"}), Others: []*v1.Pod{podWith("a", v1.ContainerPort{HostPort: 80, HostIP: "10.0.0.1"})}},
		},
		{
			name: "any IPv6 address, twice", reason: "NodePorts",
			in: Inputs{Pod: podWith("p", v1.ContainerPort{HostPort: 80, HostIP: "::"}), Others: []*v1.Pod{podWith("a", v1.ContainerPort{HostPort: 80, HostIP: "::"})}},
		},
		{
			name: "any IPv4 address takes it, too", reason: "NodePorts",
			in: Inputs{Pod: podWith("p", v1.ContainerPort{HostPort: 80, HostIP: "::"}), Others: []*v1.Pod{podWith("a", web)}},
		},
		{name: "container ports do not matter", in: Inputs{Pod: podWith("p", v1.ContainerPort{ContainerPort: 80}), Others: []*v1.Pod{podWith("a", v1.ContainerPort{ContainerPort: 80})}}},
		{name: "a sidecar's port counts", in: Inputs{Pod: podWith("p", web), Others: []*v1.Pod{asInit(podWith("a", web), &always)}}, reason: "NodePorts"},
		{name: "an init container's does not", in: Inputs{Pod: podWith("p", web), Others: []*v1.Pod{asInit(podWith("a", web), nil)}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Check(tc.in)
			if v.OK != (tc.reason == "") || v.Reason != tc.reason || !strings.Contains(v.Message, tc.says) || (v.Message == "") != v.OK {
				t.Errorf("verdict %+v, want reason %q saying %q", v, tc.reason, tc.says)
			}
		})
	}
}
