package agent

import (
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/kubeloupe/kubeloupe/agent/node"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// addresses are the node's.
type addresses struct {
	own []string // this machine's, the primary one first; never empty

	mu   sync.Mutex
	told []string // what hostIPs returned when the node's object was last seen
}

// hostIPs returns the addresses by which pods know the node, the primary one first: those of its object in the API, which a cloud provider may
// have set. While it has none, they are this machine's; if a cloud provider is to set them, there are none.
//
// Upstream: pkg/kubelet/kubelet_getters.go, getHostIPsAnyWay.
func (p *parts) hostIPs() []string {
	ips := node.AddressesOf(p.self.Object())
	if k := p.cfg.Kubelet; len(ips) == 0 && (!k.Node.ExternalCloud || len(k.Node.IPs) > 0 || k.API.Kubeconfig == "") {
		return p.host.addresses.own
	}
	return ips
}

// podFamily returns the family of pods' addresses that is first.
func (p *parts) podFamily() podstate.Family { return podstate.FamilyOf(p.cfg.Kubelet.Node.IPs) }

// addressesSeen has the workers of all pods look at them again if the node's addresses have changed: their statuses have them, and containers
// whose environment has them cannot start before.
func (p *parts) addressesSeen() {
	a := p.host.addresses
	a.mu.Lock()
	ips := p.hostIPs()
	changed := !slices.Equal(ips, a.told)
	a.told = ips
	a.mu.Unlock()
	if changed {
		p.wakes("the node's addresses have changed", true)(slices.Collect(maps.Keys(p.pods.registry.States())))
	}
}

func nodeIPs(texts []string) []net.IP {
	var out []net.IP
	for _, s := range texts {
		out = append(out, net.ParseIP(s)) // config has validated it
	}
	return out
}
