package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// lookupTimeout bounds how long the node's name is looked up.
const lookupTimeout = 2 * time.Second

// whereabouts finds the node's addresses.
type whereabouts struct {
	hostname string
	ips      []net.IP // --node-ip
	external bool     // a cloud provider tells them
	lookup   func(ctx context.Context, host string) ([]net.IP, error)
	route    func(net.IP) (net.IP, error) // the address that the default route leaves by
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

// addresses are --node-ip, else what the name resolves to, else that of the default route; and the hostname.
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
			return node.Status.Addresses, nil // the provider's
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

// given are the addresses of --node-ip that are addresses; 0.0.0.0 and :: only name a family.
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
	if ip := net.ParseIP(w.hostname); ip != nil {
		return ip, nil
	}
	var family net.IP
	if len(w.ips) > 0 {
		family = w.ips[0]
	}
	want4 := family == nil || family.To4() != nil
	var other net.IP
	found, _ := w.lookup(ctx, name) // without an answer the route tells
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

// valid says what is wrong with an address as this node's.
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

// setProvidedIPs tells the cloud provider of --node-ip.
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
