package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

// port has the pod's container take a port of the node.
func port(p *v1.Pod, protocol v1.Protocol) *v1.Pod {
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 5353, HostPort: 15353, Protocol: protocol}}
	return p
}

// refused is a case of a pod that the agent rejects.
func refused(name, does string, cause func(*scene)) fault {
	return fault{
		name: name, class: workload, does: does, want: []string{"KL35"}, silent: []string{"KL15", "KL16", "KL07", "KL31", "KL33", "KL36"},
		make: func(s *scene) {
			cause(s)
			s.rejected("web")
			s.lasts(5 * time.Second)
		},
	}
}

// unfit is a case of a pod of the cluster that was put on a node on which it must not be.
func unfit(name, does string, change func(*v1.Pod)) fault {
	f := refused(name, does, func(s *scene) {
		p := s.pod("web")
		change(p)
		s.create(p)
	})
	f.cluster = true
	return f
}

func admissionFaults() []fault {
	return []fault{
		refused("reject-port", "Another pod has the port of the node.", func(s *scene) {
			other := port(s.pod("other"), v1.ProtocolTCP)
			s.set(other)
			s.ready("other")
			s.set(other, port(s.pod("web"), v1.ProtocolTCP))
		}),
		unfit("reject-cpu", "The pod requests more processors than the node has, and names the node itself.", func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("900")}
		}),
		unfit("reject-selector", "The node, which the pod names itself, does not have the label of its node selector.", func(p *v1.Pod) {
			p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		}),
		{
			name: "admit-port-other-protocol", class: workload, silent: []string{"KL35", "KL07", "KL31", "KL15", "KL33"},
			does: "Another pod has the same port of the node for TCP, this one for UDP: both run.",
			make: func(s *scene) {
				other := port(s.pod("other"), v1.ProtocolTCP)
				s.set(other)
				s.ready("other")
				s.set(other, port(s.pod("web"), v1.ProtocolUDP))
				s.ready("web")
			},
		},
		{
			name: "admit-safe-sysctl", class: workload, silent: []string{"KL35", "KL07", "KL31", "KL36"},
			does: "The pod sets a sysctl that every node allows.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "net.ipv4.ip_local_port_range", Value: "20000 30000"}}}
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "deadline-exceeded", class: workload, want: []string{"KL35"}, silent: []string{"KL17", "KL27", "KL32", "KL33"},
			does: "The pod may be active for 6 s, and would take longer: the kubelet ends it.",
			make: func(s *scene) {
				p := s.once("trap 'exit 0' TERM; sleep infinity & wait")
				p.Spec.ActiveDeadlineSeconds = new(int64(6))
				s.set(p)
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "deadline-met", class: workload, silent: []string{"KL35", "KL17", "KL27", "KL33"},
			does: "The pod may be active for 30 s, and is done after 4 s.",
			make: func(s *scene) {
				p := s.once("sleep 4")
				p.Spec.ActiveDeadlineSeconds = new(int64(30))
				s.set(p)
				s.phase("web", trace.PodSucceeded)
				s.lasts(4 * time.Second)
			},
		},
	}
}
