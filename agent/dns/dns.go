// Package dns returns the resolver configuration of pods, based on the node's.
//
// It reads the node's file each time, because the file changes while the agent runs. criconfig.DNS decides which parts a pod gets.
// It runs no goroutine and publishes nothing: it returns warnings to the caller.
package dns

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// maxResolvConf limits the size of resolvConf, in bytes. Root writes it, or a program of the node's network. Upstream:
// pkg/kubelet/network/dns/dns.go, maxResolvConfLength.
const maxResolvConf = 10 << 20

// Resolver returns the resolver configuration of pods.
type Resolver struct {
	// ResolvConf is the path of the node's file; "" for none.
	ResolvConf string
	// ClusterDNS are the addresses of the cluster's servers, ClusterDomain its domain.
	ClusterDNS    []string
	ClusterDomain string
	// NodeIPs are the node's addresses, primary first.
	NodeIPs []string
}

// Of returns a pod's configuration from the current content of the node's file. A file that cannot be read is a
// warning, and counts as empty.
func (r Resolver) Of(pod *v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning) {
	in := criconfig.DNSInput{ClusterDNS: r.ClusterDNS, ClusterDomain: r.ClusterDomain, NodeIPs: r.NodeIPs}
	var warnings []criconfig.Warning
	if r.ResolvConf != "" {
		text, err := wholefile.Read(r.ResolvConf, maxResolvConf)
		if err == nil {
			in.Host, err = criconfig.ParseResolvConf(text)
		}
		if err != nil {
			warnings = append(warnings, criconfig.Warning{Reason: "CheckLimitsForResolvConf", Message: r.ResolvConf + ": " + err.Error()})
		}
	}
	cfg, more := criconfig.DNS(pod, in)
	return cfg, append(warnings, more...)
}
