package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	alphaResource = "lab.kubeloupe.dev/alpha" // registers on the kubelet's socket
	betaResource  = "lab.kubeloupe.dev/beta"  // registers in plugins_registry, and gives CDI devices
	draDriver     = "dra.example.com"
	draClass      = "contents"
	deviceCount   = 3
)

// managers changes the configuration: CPUs and topology are managed, as with the tests of test/cluster.
func managers(config map[string]any) error {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return err
	}
	online, err := cpuset.Parse(strings.TrimSpace(string(text)))
	if err != nil || online.Size() < 2 {
		return fmt.Errorf("CPUs %s, %w: a container can have one for itself only if there are two", online, err)
	}
	list := online.List()
	config["cpuManagerPolicy"], config["reservedSystemCPUs"] = "static", online.Difference(cpuset.New(list[len(list)-1])).String()
	config["topologyManagerPolicy"] = "single-numa-node"
	return nil
}

// plugins are the processes of two device plugins and of a DRA driver.
type plugins struct {
	running []*exec.Cmd
	data    string
}

// startPlugins starts them for the agent with that root directory.
func startPlugins(ctx context.Context, c *lab.Cluster, root string) (p *plugins, err error) {
	plugin, err := lab.BuildDevicePlugin(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	driver, err := lab.BuildDRADriver(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	p = &plugins{}
	if p.data, err = os.MkdirTemp("", "kubeloupe-compat-"); err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(p.data, name) }
	common := []string{"-root-dir", root, "-journal", in("journal"), "-devices", fmt.Sprint(deviceCount)}
	for _, args := range [][]string{
		{plugin, "-resource", alphaResource, "-data", in("alpha")},
		{plugin, "-resource", betaResource, "-data", in("beta"), "-cdi-dir", c.CDIDir, "-registry"},
		{driver, "-name", draDriver, "-node", lab.NodeName, "-kubeconfig", c.Kubeconfig, "-data", in("dra"), "-cdi-dir", c.CDIDir},
	} {
		cmd := exec.Command(args[0], append(args[1:], common...)...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, p.stop())
		}
		p.running = append(p.running, cmd)
	}
	return p, nil
}

// stop ends the processes, and waits for them.
func (p *plugins) stop() error {
	var errs []error
	for _, cmd := range p.running {
		errs = append(errs, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
	}
	return errors.Join(append(errs, os.RemoveAll(p.data))...)
}
