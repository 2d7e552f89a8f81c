// Package dns returns the resolver configuration of pods, based on the node's.
//
// It reads the node's file each time, because the file changes while the agent runs. criconfig.DNS decides which parts a pod gets.
// It runs no goroutine and publishes nothing: it returns warnings and errors to the caller.
package dns

import (
	"fmt"
	"os"

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

// Of returns a pod's configuration from the current content of the node's file. If the file cannot be read, that is an
// error, whatever the pod's policy: a sandbox keeps its configuration.
//
// Upstream: pkg/kubelet/network/dns/dns.go, GetPodDNS.
func (r Resolver) Of(pod *v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning, error) {
	host, err := r.host()
	if err != nil {
		return nil, nil, err
	}
	cfg, warnings := criconfig.DNS(pod, criconfig.DNSInput{Host: host, ClusterDNS: r.ClusterDNS, ClusterDomain: r.ClusterDomain, NodeIPs: r.NodeIPs})
	return cfg, warnings, nil
}

// host reads the node's file; nil if there is none by configuration.
func (r Resolver) host() (*criconfig.ResolvConf, error) {
	switch r.ResolvConf {
	case "":
		return nil, nil
	case os.DevNull: // no regular file, but a usual way to say that there is no server
		return &criconfig.ResolvConf{}, nil
	}
	text, err := wholefile.Read(r.ResolvConf, maxResolvConf)
	if err != nil {
		return nil, fmt.Errorf("resolvConf: %w", err)
	}
	conf, err := criconfig.ParseResolvConf(text)
	if err != nil {
		return nil, fmt.Errorf("resolvConf %s: %w", r.ResolvConf, err)
	}
	return conf, nil
}
