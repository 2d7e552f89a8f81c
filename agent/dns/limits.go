package dns

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// ofCluster is how many search domains of the cluster a pod has.
const ofCluster = 3

// Problem returns why pods cannot have all that the node's file has, or that it cannot be read, in upstream's words; "" if it is all right.
//
// Upstream: pkg/kubelet/network/dns/dns.go, CheckLimitsForResolvConf.
func (r Resolver) Problem() string {
	host, err := r.host()
	switch {
	case err != nil:
		return err.Error()
	case host == nil:
		return ""
	}
	most := criconfig.MaxSearches
	if r.ClusterDomain != "" {
		most -= ofCluster
	}
	if len(host.Searches) > most {
		return fmt.Sprintf("Resolv.conf file '%s' contains search line consisting of more than %d domains!", r.ResolvConf, most)
	}
	for _, s := range host.Searches {
		if len(s) > validation.DNS1123SubdomainMaxLength {
			return fmt.Sprintf("Resolv.conf file %q contains a search path which length is more than allowed %d chars!", r.ResolvConf, validation.DNS1123SubdomainMaxLength)
		}
	}
	if len(strings.Join(host.Searches, " ")) > criconfig.MaxSearchLine {
		return fmt.Sprintf("Resolv.conf file '%s' contains search line which length is more than allowed %d chars!", r.ResolvConf, criconfig.MaxSearchLine)
	}
	return ""
}
