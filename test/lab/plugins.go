package lab

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The journal and the CDI part of the device plugin are the driver's, too.
//
//go:embed deviceplugin/*.go
var devicePluginSource embed.FS

//go:embed dradriver/*.txt deviceplugin/journal.go deviceplugin/cdi.go
var draDriverSource embed.FS

// draVersion is the version of k8s.io/dynamic-resource-allocation, with which the driver is built.
const draVersion = "v0.37.1"

// BuildDevicePlugin builds the lab's device plugin (test/lab/deviceplugin) where it is missing, and returns the program. One line then goes to
// log, which may be nil.
func BuildDevicePlugin(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	version, err := hashFS(devicePluginSource)
	if err != nil {
		return "", err
	}
	dir, err := b.ensure("deviceplugin", version, "bin", func(tmp string) error {
		dir, err := moduleDir(ctx)
		if err != nil {
			return err
		}
		return b.run(ctx, dir, []string{"CGO_ENABLED=0", "GOOS=", "GOARCH="}, "go", "build", "-trimpath", "-o", tmp+"/", "./test/lab/deviceplugin")
	})
	return filepath.Join(dir, "deviceplugin"), err
}

// BuildDRADriver builds the lab's DRA driver (test/lab/dradriver) where it is missing, and returns the program. It is a module of its own: the
// library for drivers is nothing that the product needs. The first time it takes a minute.
func BuildDRADriver(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	hash, err := hashFS(draDriverSource)
	if err != nil {
		return "", err
	}
	dir, err := b.ensure("dradriver", draVersion+"-"+hash, "bin", func(tmp string) error {
		return b.inModule(draDriverSource, func(dir string, env []string) error {
			return b.run(ctx, dir, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(tmp, "dradriver"), ".")
		})
	})
	return filepath.Join(dir, "dradriver"), err
}

// pluginKubelet runs the kubelet in a mount namespace where the directory of device plugins is the agent's, and that of containerd the lab's,
// because cAdvisor knows only containerd's default socket. What the kubelet mounts in its root directory appears outside, as on a node, but not
// these directories.
const pluginKubelet = `
export plugins containerd
grep -qF " $root " /proc/self/mountinfo || { mount --bind "$root" "$root"; mount --make-shared "$root"; }
mkdir -p "$plugins" /var/lib/kubelet/device-plugins /run/containerd
exec unshare --mount --propagation unchanged sh -ec '
	for dir in /var/lib/kubelet/device-plugins /run/containerd; do
		mount --make-private "$(stat -c %m "$dir")"
	done
	mount --bind "$plugins" /var/lib/kubelet/device-plugins
	mount --bind "$containerd" /run/containerd
	exec "$@"' sh "$kubelet" "$@"
`

// PluginKubelet writes a program that runs upstream's kubelet with the device plugins of the agents with that State, and returns its path, for
// [AgentConfig]. Upstream's kubelet has its device plugins in /var/lib/kubelet, whatever its root directory is. Directories that this needs are
// created where they are missing.
func (c *Cluster) PluginKubelet(state string) (string, error) {
	root := c.path("node", state, "root")
	path := c.path("node", state+"-kubelet")
	text := fmt.Sprintf("#!/bin/sh\nset -e\nroot='%s' plugins='%s' containerd='%s' kubelet='%s'\n", root, filepath.Join(root, "device-plugins"), c.Dir, c.Program("kubelet")) + pluginKubelet[1:]
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o700)
}
