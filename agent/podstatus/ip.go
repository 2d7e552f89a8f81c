package podstatus

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// ips sets the addresses of node and pod. A finished pod keeps its addresses: they are still needed when its network is
// gone. Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus and sortPodIPs; pkg/kubelet/pleg/generic.go,
// getPodIPs.
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

// podIPs returns at most one address of each family from the current sandbox, the node's primary family first.
func (g *generator) podIPs() []string {
	sandbox := g.seen.Sandbox()
	if sandbox == nil || !sandbox.Ready {
		return nil
	}
	primary6 := len(g.in.HostIPs) > 0 && is6(g.in.HostIPs[0])
	var ordered [2]string
	for _, ip := range sandbox.IPs {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			continue
		}
		slot := &ordered[0]
		if is6(ip) != primary6 {
			slot = &ordered[1]
		}
		if *slot == "" {
			*slot = addr.Unmap().String()
		}
	}
	var ips []string
	for _, ip := range ordered {
		if ip != "" {
			ips = append(ips, ip)
		}
	}
	return ips
}

func is6(ip string) bool {
	addr, err := netip.ParseAddr(ip)
	return err == nil && !addr.Unmap().Is4()
}
