// Command deviceplugin is a small device plugin (v1beta1) for tests: its devices are /dev/null.
//
// It is a process of its own, as a real plugin is, and uses all of the API: registration on the kubelet's socket or in plugins_registry,
// NUMA nodes, GetPreferredAllocation (the last devices by name first), Allocate with an environment variable, a mount and a device node,
// or with CDI devices, and PreStartContainer. When an agent starts, it registers again. Each call is a line of JSON in its journal, and a
// test can order that the agent is killed during a call.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// config is what the flags say.
type config struct {
	resource string
	// root is the kubelet's root directory.
	root     string
	registry bool
	devices  int
	node     int64
	data     string
	cdi      string
	journal  string
	hooks    string
}

func main() {
	var c config
	flag.StringVar(&c.resource, "resource", "", "the name of the resource, for example lab.kubeloupe.dev/alpha")
	flag.StringVar(&c.root, "root-dir", "", "the kubelet's root directory")
	flag.BoolVar(&c.registry, "registry", false, "register in plugins_registry instead of on the kubelet's socket")
	flag.IntVar(&c.devices, "devices", 2, "the number of devices")
	flag.Int64Var(&c.node, "numa-node", 0, "the NUMA node of the devices; -1 for none")
	flag.StringVar(&c.data, "data", "", "directory of the files that are mounted into containers")
	flag.StringVar(&c.cdi, "cdi-dir", "", "directory of the runtime's CDI specifications: devices are CDI devices then")
	flag.StringVar(&c.journal, "journal", "", "file to which calls are appended")
	flag.StringVar(&c.hooks, "hooks", "", "directory with orders to kill the agent: RESOURCE.METHOD.begin or .end, with a process number")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deviceplugin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	if c.resource == "" || c.root == "" || c.data == "" || c.journal == "" {
		return errors.New("-resource, -root-dir, -data and -journal are needed")
	}
	p, err := newPlugin(c)
	if err != nil {
		return err
	}
	return p.serve(ctx)
}
