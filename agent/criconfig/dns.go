package criconfig

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The limits of resolvers: nameservers, search domains, and the length of the line with those in bytes.
const (
	maxNameservers = 3
	MaxSearches    = 32
	MaxSearchLine  = 2048
)

// DNSInput is the input for a pod's DNS configuration, in addition to its spec.
type DNSInput struct {
	// Host is the node's resolv.conf; nil if the configuration says to ignore it. Pods of policy Default then have a
	// resolver on localhost.
	Host *ResolvConf
	// ClusterDNS are the cluster's DNS servers. Without any, ClusterFirst falls back to Default.
	ClusterDNS []string
	// ClusterDomain is the suffix of the pods' search domains, "" for none.
	ClusterDomain string
	// NodeIPs choose the localhost addresses if Host is nil.
	NodeIPs []string
}

// Warning is the content of a Kubernetes event of type Warning. The pod starts nevertheless.
type Warning struct {
	Reason, Message string
	// Node is the message of an event about the node with that reason; "" for none.
	Node string
}

// DNS returns the resolver configuration of the pod's containers.
//
// Upstream: pkg/kubelet/network/dns/dns.go, GetPodDNS.
func DNS(pod *v1.Pod, in DNSInput) (*runtimeapi.DNSConfig, []Warning) {
	var warnings []Warning
	policy := effectivePolicy(pod)
	if policy == v1.DNSClusterFirst && len(in.ClusterDNS) == 0 {
		node := fmt.Sprintf("kubelet does not have ClusterDNS IP configured and cannot create Pod using %q policy. Falling back to %q policy.",
			v1.DNSClusterFirst, v1.DNSDefault)
		message := fmt.Sprintf("pod: %q. %s", fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), node)
		warnings = append(warnings, Warning{Reason: "MissingClusterDNS", Message: message, Node: node})
		policy = v1.DNSDefault
	}
	cfg := &runtimeapi.DNSConfig{}
	switch policy {
	case v1.DNSNone:
	case v1.DNSDefault:
		cfg = hostDNS(in)
	case v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet:
		cfg.Servers = slices.Clone(in.ClusterDNS)
		cfg.Searches = clusterSearches(pod, in)
		cfg.Options = []string{"ndots:5"}
	}
	if extra := pod.Spec.DNSConfig; extra != nil {
		cfg.Servers = unique(slices.Concat(cfg.Servers, extra.Nameservers))
		cfg.Searches = unique(slices.Concat(cfg.Searches, extra.Searches))
		cfg.Options = mergeOptions(cfg.Options, extra.Options)
	}
	return cfg, append(warnings, limit(cfg)...)
}

// effectivePolicy returns ClusterFirst, Default or None.
func effectivePolicy(pod *v1.Pod) v1.DNSPolicy {
	switch pod.Spec.DNSPolicy {
	case v1.DNSNone, v1.DNSDefault:
		return pod.Spec.DNSPolicy
	case v1.DNSClusterFirst:
		if pod.Spec.HostNetwork {
			return v1.DNSDefault
		}
	case v1.DNSClusterFirstWithHostNet:
	}
	return v1.DNSClusterFirst
}

func hostDNS(in DNSInput) *runtimeapi.DNSConfig {
	cfg := &runtimeapi.DNSConfig{}
	if in.Host != nil {
		cfg.Servers = slices.Clone(in.Host.Nameservers)
		cfg.Searches = slices.Clone(in.Host.Searches)
		cfg.Options = slices.Clone(in.Host.Options)
		return cfg
	}
	for _, ip := range in.NodeIPs {
		if addr, err := netip.ParseAddr(ip); err == nil && addr.Is6() && !addr.Is4In6() {
			cfg.Servers = append(cfg.Servers, "::1")
		} else {
			cfg.Servers = append(cfg.Servers, "127.0.0.1")
		}
	}
	if len(cfg.Servers) == 0 {
		cfg.Servers = []string{"127.0.0.1"}
	}
	cfg.Searches = []string{"."}
	return cfg
}

func clusterSearches(pod *v1.Pod, in DNSInput) []string {
	var host []string
	if in.Host != nil {
		host = in.Host.Searches
	}
	if in.ClusterDomain == "" {
		return slices.Clone(host)
	}
	return unique(slices.Concat([]string{
		pod.Namespace + ".svc." + in.ClusterDomain, "svc." + in.ClusterDomain, in.ClusterDomain,
	}, host))
}

// mergeOptions replaces the host's options with the pod's of the same name.
func mergeOptions(host []string, pod []v1.PodDNSConfigOption) []string {
	var out options
	for _, text := range host {
		out.set(text)
	}
	for _, o := range pod {
		text := o.Name
		if o.Value != nil && *o.Value != "" {
			text += ":" + *o.Value
		}
		out.set(text)
	}
	return out.list
}

// options are resolver options with unique names.
type options struct {
	list []string
	at   map[string]int // by name
}

// set adds an option, or replaces an earlier one of the same name.
func (o *options) set(text string) {
	name, _, _ := strings.Cut(text, ":")
	if i, have := o.at[name]; have {
		o.list[i] = text
		return
	}
	if o.at == nil {
		o.at = map[string]int{}
	}
	o.at[name] = len(o.list)
	o.list = append(o.list, text)
}

// limit removes what exceeds the limits of resolvers.
func limit(cfg *runtimeapi.DNSConfig) (warnings []Warning) {
	if len(cfg.Servers) > maxNameservers {
		cfg.Servers = cfg.Servers[:maxNameservers]
		warnings = append(warnings, Warning{Reason: "DNSConfigForming", Message: "Nameserver limits were exceeded, some nameservers have been " +
			"omitted, the applied nameserver line is: " + strings.Join(cfg.Servers, " ")})
	}
	all := len(cfg.Searches)
	cfg.Searches = cfg.Searches[:min(all, MaxSearches)]
	cfg.Searches = slices.DeleteFunc(cfg.Searches, func(s string) bool { return len(s) > validation.DNS1123SubdomainMaxLength })
	for len(strings.Join(cfg.Searches, " ")) > MaxSearchLine {
		cfg.Searches = cfg.Searches[:len(cfg.Searches)-1]
	}
	if len(cfg.Searches) < all {
		warnings = append(warnings, Warning{Reason: "DNSConfigForming", Message: "Search Line limits were exceeded, some search paths have been " +
			"omitted, the applied search line is: " + strings.Join(cfg.Searches, " ")})
	}
	return warnings
}

func unique(list []string) []string {
	var out []string
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
