package main

import (
	"embed"
	"strings"
)

//go:embed files
var files embed.FS

// registries are those that the machine asks its own registry for.
func registries() []string { return []string{"registry.k8s.io", "docker.io", "quay.io", "gcr.io"} }

// embedded are the names of embedded files by their path on the machine.
func embedded() map[string]string {
	all := map[string]string{
		"opt/e2e/config.yaml":                 "config.yaml",
		"opt/e2e/kubeloupe/kubelet":           "kubelet.sh",
		"usr/local/bin/sudo":                  "sudo.sh",
		"etc/systemd/system/registry.service": "registry.service",
		"etc/systemd/system/logind.service":   "logind.service",
	}
	for _, r := range registries() {
		all["etc/containerd/certs.d/"+r+"/hosts.toml"] = "hosts.toml"
	}
	return all
}

// quote makes one word of a shell's script.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
