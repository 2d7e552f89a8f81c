package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	netutils "k8s.io/utils/net"
)

// lookupTimeout limits the look-up of the node's name.
const lookupTimeout = 2 * time.Second

// whereabouts finds the node's addresses.
type whereabouts struct {
	hostname string
	ips      []net.IP // --node-ip
	external bool     // a cloud provider sets them
	lookup   func(ctx context.Context, host string) ([]net.IP, error)
	route    func(net.IP) (net.IP, error) // the source address of the default route
	own      func() ([]net.Addr, error)
}

func newWhereabouts(c *Config) whereabouts {
	return whereabouts{
		hostname: c.Hostname, ips: c.IPs, external: c.ExternalCloud,
		lookup: func(ctx context.Context, host string) ([]net.IP, error) {
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			return net.DefaultResolver.LookupIP(ctx, "ip", host)
		},
		route: utilnet.ResolveBindAddress, own: net.InterfaceAddrs,
	}
}

// addresses returns --node-ip, otherwise the addresses of the node's name, otherwise that of the default route; and the
// hostname.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, NodeAddress.
func (w *whereabouts) addresses(ctx context.Context, node *v1.Node) ([]v1.NodeAddress, error) {
	hostname := v1.NodeAddress{Type: v1.NodeHostName, Address: w.hostname}
	given := given(w.ips)
	for _, ip := range given {
		if err := w.valid(ip); err != nil {
			return nil, fmt.Errorf("--node-ip %s: %w", ip, err)
		}
	}
	if w.external {
		if len(node.Status.Addresses) > 0 {
			return node.Status.Addresses, nil // set by the cloud provider
		}
		if len(w.ips) == 0 {
			return []v1.NodeAddress{hostname}, nil
		}
	}
	if len(given) == 0 {
		ip, err := w.find(ctx, node.Name)
		if err != nil {
			return nil, err
		}
		given = []net.IP{ip}
	}
	var out []v1.NodeAddress
	for _, ip := range given {
		out = append(out, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip.String()})
	}
	return append(out, hostname), nil
}

// given returns the addresses of --node-ip; 0.0.0.0 and :: only select a family.
func given(ips []net.IP) []net.IP {
	if len(ips) == 0 || ips[0].IsUnspecified() {
		return nil
	}
	if len(ips) > 1 && ips[1].IsUnspecified() {
		return ips[:1]
	}
	return ips
}

func (w *whereabouts) find(ctx context.Context, name string) (net.IP, error) {
	if ip := netutils.ParseIPSloppy(w.hostname); ip != nil {
		return ip, nil
	}
	var family net.IP
	if len(w.ips) > 0 {
		family = w.ips[0]
	}
	want4 := family == nil || family.To4() != nil
	var other net.IP
	found, _ := w.lookup(ctx, name) // without a result, the default route decides
	for _, ip := range found {
		switch {
		case w.valid(ip) != nil:
		case (ip.To4() != nil) == want4:
			return ip, nil
		case other == nil:
			other = ip
		}
	}
	if other != nil {
		return other, nil
	}
	ip, err := w.route(family)
	if err != nil {
		return nil, fmt.Errorf("no address for node %s: its name does not resolve to one of this machine, and there is no default route; set --node-ip: %w", name, err)
	}
	return ip, nil
}

// valid returns an error if an address cannot be this node's.
func (w *whereabouts) valid(ip net.IP) error {
	switch {
	case ip.To16() == nil:
		return errors.New("is not an IP address")
	case ip.IsLoopback():
		return errors.New("is a loopback address")
	case ip.IsMulticast():
		return errors.New("is a multicast address")
	case ip.IsLinkLocalUnicast():
		return errors.New("is a link-local address")
	case ip.IsUnspecified():
		return errors.New("is all zeros")
	}
	addrs, err := w.own()
	if err != nil {
		return fmt.Errorf("list this machine's addresses: %w", err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return nil
		}
	}
	return errors.New("no interface of this machine has it")
}

// setProvidedIPs sets the annotation with --node-ip for the cloud provider, or removes it if there is none.
func setProvidedIPs(node *v1.Node, ips []net.IP) {
	list := given(ips)
	if len(list) == 0 {
		delete(node.Annotations, providedIPAnnotation)
		return
	}
	text := list[0].String()
	if len(list) > 1 {
		text += "," + list[1].String()
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[providedIPAnnotation] = text
}
