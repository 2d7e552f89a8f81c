package selinux

import (
	"github.com/opencontainers/selinux/go-selinux"
	"github.com/opencontainers/selinux/go-selinux/label"
	v1 "k8s.io/api/core/v1"
)

// OfNode returns a translation with the policy of this node; nil if SELinux is not enabled on it.
func OfNode() Translate {
	if !selinux.GetEnabled() {
		return nil
	}
	return fileLabel
}

// fileLabel takes what the options lack from the policy's defaults for containers. It returns "" if the policy has none.
//
// Upstream: pkg/volume/util/selinux.go, SELinuxOptionsToFileLabel.
func fileLabel(o *v1.SELinuxOptions) (string, error) {
	process, file, err := label.InitLabels(initOptions(o))
	if err != nil {
		return "", err
	}
	selinux.ReleaseLabel(process) // the runtime allocates its own
	return file, nil
}

// initOptions returns the options that are set, as the library has them.
func initOptions(o *v1.SELinuxOptions) (out []string) {
	for _, f := range []struct{ name, value string }{{"user", o.User}, {"role", o.Role}, {"type", o.Type}, {"level", o.Level}} {
		if f.value != "" {
			out = append(out, f.name+":"+f.value)
		}
	}
	return out
}
