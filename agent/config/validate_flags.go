package config

import (
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// validate checks the flags that have no field.
//
// Upstream: cmd/kubelet/app/options/options.go, ValidateKubeletFlags.
func (f *Flags) validate(r *report) {
	n := &f.node
	for _, x := range []struct{ flag, v string }{{"--kubeconfig", n.kubeconfig}, {"--bootstrap-kubeconfig", n.bootstrap}} {
		if x.v != "" {
			r.add(x.flag, "this build cannot connect to an API server yet, it runs static pods only; leave the flag out")
		}
	}
	if n.rootDir == "" {
		r.add("--root-dir", "must name a directory")
	}
	if n.exitOnLockContention && n.lockFile == "" {
		r.add("--exit-on-lock-contention", "needs --lock-file")
	}
	if n.minContainerAge < 0 {
		r.add("--minimum-container-ttl-duration", "%v must not be negative", n.minContainerAge)
	}
	if ips := splitList(n.nodeIP); len(ips) > 2 {
		r.add("--node-ip", "takes one address, or one of each family")
	} else {
		for _, ip := range ips {
			if _, err := netip.ParseAddr(ip); err != nil {
				r.add("--node-ip", "%q is not an IP address", ip)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(n.labels)) {
		validateLabel(k, n.labels[k], r)
	}
}

func validateLabel(k, v string, r *report) {
	for _, e := range validation.IsQualifiedName(k) {
		r.add("--node-labels", "key %q: %s", k, e)
	}
	for _, e := range validation.IsValidLabelValue(v) {
		r.add("--node-labels", "value %q of %s: %s", v, k, e)
	}
	prefix := path.Dir(k)
	for _, reserved := range []string{"kubernetes.io", "k8s.io"} {
		if (prefix == reserved || strings.HasSuffix(prefix, "."+reserved)) && !kubeletapis.IsKubeletLabel(k) {
			r.add("--node-labels", "%s is reserved; in %s a node may set only %s and what begins with %s", k, reserved,
				strings.Join(kubeletapis.KubeletLabels(), ", "), strings.Join(kubeletapis.KubeletLabelNamespaces(), ", "))
		}
	}
}
