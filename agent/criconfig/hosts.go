package criconfig

import (
	"bytes"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// HostsPath is where the hosts file is mounted in containers.
const HostsPath = "/etc/hosts"

// Hosts returns the content of the pod's hosts file. With hostNetwork, it is the node's own file (nodeHosts) and the
// pod's aliases; otherwise it has the pod's name for each of its addresses.
//
// Upstream: pkg/kubelet/kubelet_pods.go, ensureHostsFile.
func Hosts(pod *v1.Pod, podIPs []string, hostname, domain string, nodeHosts []byte) []byte {
	var b bytes.Buffer
	if pod.Spec.HostNetwork {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		b.Write(nodeHosts)
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n" +
			"127.0.0.1\tlocalhost\n" +
			"::1\tlocalhost ip6-localhost ip6-loopback\n" +
			"fe00::0\tip6-localnet\n" +
			"fe00::0\tip6-mcastprefix\n" +
			"fe00::1\tip6-allnodes\n" +
			"fe00::2\tip6-allrouters\n")
		names := hostname
		if domain != "" {
			names = hostname + "." + domain + "\t" + hostname
		}
		for _, ip := range podIPs {
			fmt.Fprintf(&b, "%s\t%s\n", ip, names)
		}
	}
	if len(pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
	}
	for _, alias := range pod.Spec.HostAliases {
		fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return b.Bytes()
}
