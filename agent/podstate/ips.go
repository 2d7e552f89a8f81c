package podstate

import "net/netip"

// Family is a family of IP addresses.
type Family bool

// Families. IPv4 is the zero value.
const (
	IPv4 Family = false
	IPv6 Family = true
)

// FamilyOf returns the family whose addresses are first in pods: that of the first configured address of the node, such as 192.0.2.1 or ::, and
// IPv4 if none is configured. The addresses that the node has, and those that a cloud provider sets, do not decide it.
//
// Upstream: pkg/kubelet/kubelet_pods.go, sortPodIPs.
func FamilyOf(configured []string) Family {
	return Family(len(configured) > 0 && is6(configured[0]))
}

// PodIPs returns the addresses of a pod, of those that the runtime reports for its sandbox: at most one of each family, that of primary first.
//
// Upstream: pkg/kubelet/kubelet_pods.go, sortPodIPs.
func PodIPs(ips []string, primary Family) []string {
	var ordered [2]string
	for _, ip := range ips {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			continue
		}
		slot := &ordered[0]
		if Family(is6(ip)) != primary {
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
