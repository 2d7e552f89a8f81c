package podstate

import "net/netip"

// PodIPs returns the addresses of a pod, of those that the runtime reports for its sandbox: at most one of each family, that of the node's primary
// address first.
//
// Upstream: pkg/kubelet/kubelet_pods.go, sortPodIPs.
func PodIPs(ips, hostIPs []string) []string {
	primary6 := len(hostIPs) > 0 && is6(hostIPs[0])
	var ordered [2]string
	for _, ip := range ips {
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
	var out []string
	for _, ip := range ordered {
		if ip != "" {
			out = append(out, ip)
		}
	}
	return out
}

func is6(ip string) bool {
	addr, err := netip.ParseAddr(ip)
	return err == nil && !addr.Unmap().Is4()
}
