package config

import (
	"maps"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// validate checks the flags without a field.
//
// Upstream: cmd/kubelet/app/options/options.go, ValidateKubeletFlags.
func (f *Flags) validate(r *report) {
	n := &f.node
	f.validateAPI(r)
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
			switch addr, err := netip.ParseAddr(ip); {
			case err != nil, addr.Zone() != "":
				r.add("--node-ip", "%q is not an IP address", ip)
			case len(ips) > 1 && addr.IsUnspecified():
				r.add("--node-ip", "%s only selects a family and must be the only address", ip)
			}
		}
	}
	if n.mounter != "" && !exists(n.mounter) {
		r.add("--experimental-mounter-path", "there is no file %s", n.mounter)
	}
	for _, k := range slices.Sorted(maps.Keys(n.labels)) {
		validateLabel(k, n.labels[k], r)
	}
}

// validateAPI checks the flags for the API server.
func (f *Flags) validateAPI(r *report) {
	n := &f.node
	if n.bootstrap != "" && n.kubeconfig == "" {
		r.add("--bootstrap-kubeconfig", "needs --kubeconfig, the file that the result is written to")
	}
	for _, x := range []struct {
		flag, file string
		needed     bool
	}{{"--kubeconfig", n.kubeconfig, n.bootstrap == ""}, {"--bootstrap-kubeconfig", n.bootstrap, !exists(n.kubeconfig)}} {
		if x.file != "" && x.needed && !exists(x.file) {
			r.add(x.flag, "there is no file %s", x.file)
		}
	}
	if (n.credentialConfig == "") != (n.credentials == "") {
		r.add("--image-credential-provider-config", "and --image-credential-provider-bin-dir go together: give both or neither")
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
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
