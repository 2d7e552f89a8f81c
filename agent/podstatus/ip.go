package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// ips sets the addresses of node and pod. A finished pod keeps its addresses: they are still needed when its network is
// gone. Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus; pkg/kubelet/pleg/generic.go, getPodIPs.
func (g *generator) ips(s *v1.PodStatus) {
	for _, ip := range g.in.HostIPs {
		s.HostIPs = append(s.HostIPs, v1.HostIP{IP: ip})
	}
	if len(s.HostIPs) > 0 {
		s.HostIP = s.HostIPs[0].IP
	}
	addresses := g.podIPs()
	if g.pod.Spec.HostNetwork {
		addresses = g.in.HostIPs
	}
	for _, ip := range addresses {
		s.PodIPs = append(s.PodIPs, v1.PodIP{IP: ip})
	}
	if sandbox := g.seen.Sandbox(); len(s.PodIPs) == 0 && (sandbox == nil || !sandbox.Ready) {
		s.PodIPs = g.previous.PodIPs
	}
	if len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
}

// podIPs returns the addresses of the current sandbox.
func (g *generator) podIPs() []string {
	sandbox := g.seen.Sandbox()
	if sandbox == nil || !sandbox.Ready {
		return nil
	}
	return podstate.PodIPs(sandbox.IPs, g.in.Family)
}
