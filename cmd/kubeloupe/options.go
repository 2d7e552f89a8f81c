package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/inspect/snapshot"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/metrics"
	"github.com/kubeloupe/kubeloupe/tui"
)

// nodeOptions are what every command that starts an agent takes.
type nodeOptions struct {
	flags   *config.Flags
	runtime string // "", sim
	output  string // "", text, json
	noTUI   bool
	view    string
	theme   theme
	events  int
	slots   int
	beside  besideOptions
}

const (
	runtimeAuto = "auto"
	runtimeSim  = "sim"
)

func (o *nodeOptions) add(c *cobra.Command) {
	fs := c.Flags()
	o.flags = config.AddFlags(fs)
	fs.StringVar(&o.runtime, "runtime", runtimeAuto, "the container runtime: auto (a CRI socket) or sim (a simulated one in memory: no root, no real container)")
	fs.StringVarP(&o.output, "output", "o", "", "output without the UI: text (one line per important event), wide (the same, not truncated) or json (every record); implies --no-tui")
	fs.BoolVar(&o.noTUI, "no-tui", false, "print lines even on a terminal")
	fs.StringVar(&o.view, "view", "", "the first view of the UI: "+strings.Join(tui.ViewNames(), ", "))
	o.theme.add(fs)
	fs.IntVar(&o.events, "event-buffer", trace.DefaultCapacity, "number of records kept in memory for slow readers; 0 publishes nothing and needs --no-tui")
	fs.IntVar(&o.slots, "runtime-slots", 0, "number of pods that the container runtime starts or stops at the same time; 0 adapts it to the machine and the load, from one and a half per CPU, within 2 and four per CPU")
	o.beside.add(c)
	c.Flags().SortFlags = false
}

// defaultLogsDir is KubeletConfiguration's default for podLogsDir.
const defaultLogsDir = "/var/log/pods"

// node is an agent about to run, with what has to be cleaned up after it.
type node struct {
	agent   *agent.Agent
	bus     *trace.Bus
	cfg     agent.Config
	sim     *simulated
	metrics *metricsSink
	gate    *step.Switch
	beside  *beside
}

// check refuses what cannot be right, before anything is touched.
func (o *nodeOptions) check() error {
	var errs []error
	if !slices.Contains([]string{runtimeAuto, runtimeSim}, o.runtime) {
		errs = append(errs, fmt.Errorf("--runtime %q: must be auto or sim; for a socket, use --container-runtime-endpoint", o.runtime))
	}
	if !slices.Contains([]string{"", "text", "wide", "json"}, o.output) {
		errs = append(errs, fmt.Errorf("--output %q: must be text, wide or json", o.output))
	}
	if err := checkLook("", o.view); err != nil {
		errs = append(errs, err)
	}
	if o.events != 0 && (o.events < 64 || o.events > 1<<24) {
		errs = append(errs, fmt.Errorf("--event-buffer %d: must be 64 to %d, or 0 for none", o.events, 1<<24))
	}
	if o.events == 0 && (o.output != "" || !o.noTUI) {
		errs = append(errs, errors.New("--event-buffer 0: without events there is no output: use --no-tui without --output"))
	}
	if o.slots < 0 {
		errs = append(errs, fmt.Errorf("--runtime-slots %d: must be 0 or more", o.slots))
	}
	return errors.Join(errs...)
}

// build loads the configuration, finds or starts the runtime, and makes the agent.
func (o *nodeOptions) build(c *cobra.Command, edit func(*agent.Config) error) (*node, error) {
	if err := o.check(); err != nil {
		return nil, userError{err}
	}
	n := &node{}
	if o.events > 0 {
		n.bus = trace.NewBus(o.events)
	}
	redirectKlog(n.bus)
	sim := o.runtime == runtimeSim
	if sim {
		var err error
		if n.sim, err = newSimulated(c, o.flags); err != nil {
			return nil, err
		}
	}
	k, err := config.Load(o.flags)
	if err != nil {
		n.sim.remove()
		return nil, userError{err}
	}
	if sim && k.Pods.LogsDir == defaultLogsDir {
		k.Pods.LogsDir = filepath.Join(n.sim.dir, "log", "pods") // nobody looks there for what is made up
	}
	if err := o.canRun(sim); err != nil {
		n.sim.remove()
		return nil, userError{err}
	}
	reg := prometheus.NewRegistry()
	if n.metrics, err = newMetrics(reg); err == nil {
		err = measureClients(reg, n.metrics.sink.Host)
	}
	if err != nil {
		n.sim.remove()
		return nil, err
	}
	n.metrics.sink.Booted(bootTime())
	n.metrics.sink.Serves(metrics.Endpoints(k.Endpoints()))
	n.cfg = agent.Config{Kubelet: k, Simulated: sim, Version: versionText(), Build: built(), Bus: n.bus, Metrics: n.metrics.handler, ProbeMetrics: n.metrics.probes, RuntimeSlots: o.slots}
	flags := flagsOf(c) // once: requests come at the same time
	n.cfg.Flags = func() map[string]string { return flags }
	if n.cfg.NodeName, err = nodeName(k); err != nil {
		n.sim.remove()
		return nil, userError{err}
	}
	if sim {
		n.cfg.Endpoint = n.sim.endpoint()
	} else if n.cfg.Endpoint, err = config.FindRuntime(k.Runtime.Endpoint, config.WellKnownRuntimes()); err != nil {
		return nil, userError{err}
	}
	n.gate = step.NewSwitch(step.Config{Snapshot: snapshotOf(&n.cfg), Bus: n.bus})
	n.cfg.Gate = n.gate
	if edit != nil {
		if err := edit(&n.cfg); err != nil {
			n.sim.remove()
			return nil, err
		}
	}
	if n.agent, err = agent.New(n.cfg); err != nil {
		n.sim.remove()
		return nil, userError{err}
	}
	n.metrics.agent.Store(n.agent)
	if n.beside, err = o.beside.build(c.Context(), n.hosted()); err != nil {
		n.sim.remove()
		return nil, err
	}
	for _, i := range k.NotActedOn {
		trace.Point(n.bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: i.Name + " is not supported and is ignored: " + i.Why})
	}
	return n, nil
}

// flagsOf are the flags of a command line with their values. A header and a URL can have a password.
func flagsOf(c *cobra.Command) map[string]string {
	out := map[string]string{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		out[f.Name] = f.Value.String()
		switch {
		case f.Name == "manifest-url-header" && f.Changed:
			out[f.Name] = "CLASSIFIED"
		case f.Name == "manifest-url" && f.Changed:
			out[f.Name] = redact.URL(out[f.Name])
		}
	})
	return out
}

// snapshotOf says what there is of a pod on this node.
func snapshotOf(cfg *agent.Config) *snapshot.Taker {
	k := cfg.Kubelet
	snap := snapshot.Config{RootDir: k.Node.RootDir, LogsDir: k.Pods.LogsDir, Runtime: lazyCRI(cfg.Endpoint)}
	if !cfg.Simulated {
		snap.CgroupMount, snap.CgroupRoot = "/sys/fs/cgroup", k.Cgroups.Root
	}
	return snapshot.New(snap)
}

// canRun says why a real runtime cannot be used by this process, if so.
func (o *nodeOptions) canRun(sim bool) error {
	switch {
	case sim:
		return nil
	case runtime.GOOS != "linux":
		return fmt.Errorf("a real container runtime needs Linux, but this is %s\n  remedy: use --runtime sim, a simulated runtime", runtime.GOOS)
	case os.Geteuid() != 0:
		return errors.New("a real container runtime needs root, to create cgroups and mounts\n  remedy: use sudo, or --runtime sim, a simulated runtime")
	}
	return nil
}

// nodeName is --hostname-override or the host's name, in lower case, as in upstream.
func nodeName(k *config.Config) (string, error) {
	name := k.Node.HostnameOverride
	if name == "" {
		h, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("the host has no name: %w; use --hostname-override", err)
		}
		name = h
	}
	if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
		return "", errors.New("the node's name is empty: use --hostname-override")
	}
	return name, nil
}

// absolute returns the path, absolute.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
