package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// The tests that are run unless others are requested: those that upstream runs for each change.
const (
	defaultFocus = `\[NodeConformance\]`
	defaultSkip  = `\[Serial\]|\[Slow\]|\[Flaky\]`
)

// options are what the command line says.
type options struct {
	agent       lab.AgentKind
	program     string
	focus, skip string
	// gates are feature gates of the agent and of the suite's API server, as NAME=true,NAME=false.
	gates string
	// out receives a directory for each run, dir has the machine.
	out, dir string
	procs    int
	// cpus and sockets are a new machine's: each socket is a NUMA node. 0 is what test/vm/node has.
	cpus, sockets int
	timeout       time.Duration
	// keep leaves the machine up, compare runs nothing, host runs the tests on this host.
	keep, compare, host bool
	// units has tests restart the kubelet on this host.
	units bool
	// inside has the tests' API server on the machine, too, not on this host.
	inside bool
	// proxy has the tests' proxy between the agent and the runtime.
	proxy bool
	// swap has the machine's swap on.
	swap bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = dispatch(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2enode:", err)
		os.Exit(1)
	}
}

// dispatch does the part of this process: on this host, more processes of this program run in namespaces.
func dispatch(ctx context.Context, o options) error {
	switch os.Getenv(stageEnv) {
	case stageInit:
		return initHost()
	case stageTests:
		return testsOnHost(ctx, o, os.Stdout)
	case stageServices:
		return serve(ctx)
	}
	return run(ctx, o, os.Stdout)
}

// parse reads flags; make says the same by the environment.
func parse(args []string) (options, error) {
	var o options
	procs, err := strconv.Atoi(cmp.Or(os.Getenv("PROCS"), "4"))
	if err != nil {
		return o, fmt.Errorf("PROCS=%s: want a number of processes, such as 4", os.Getenv("PROCS"))
	}
	f := flag.NewFlagSet("e2enode", flag.ExitOnError)
	agent := f.String("agent", cmp.Or(os.Getenv("AGENT"), string(lab.Kubeloupe)), "kubeloupe or upstream (AGENT)")
	f.StringVar(&o.program, "program", "bin/kubeloupe", "kubeloupe's program, without cgo")
	f.StringVar(&o.focus, "focus", cmp.Or(os.Getenv("FOCUS"), defaultFocus), "regular expression of the tests to run (FOCUS)")
	f.StringVar(&o.skip, "skip", cmp.Or(os.Getenv("SKIP"), defaultSkip), "regular expression of the tests to leave out (SKIP)")
	f.StringVar(&o.gates, "gates", os.Getenv("GATES"), "feature gates of the agent and of the suite's API server, as NAME=true,NAME=false (GATES); tests of gates that are off are skipped")
	f.StringVar(&o.out, "out", os.Getenv("OUT"), "directory for the logs and results of all runs (OUT); by default e2e-node/results in the cache, with -host e2e-node/host")
	f.BoolVar(&o.host, "host", false, "run the tests on this host, in namespaces and a cgroup of their own, instead of in the machine; needs cgroup v1")
	f.BoolVar(&o.units, "units", false, "with -host: scripts take the place of systemctl and systemd-run, so that tests that restart the kubelet can do so")
	f.StringVar(&o.dir, "dir", "", "directory of the machine, kubeloupe-e2e-node in the temporary directory by default; one that is up there is used, and left up (VM_DIR). With -host, a new or empty directory for the run, which removes it (kubeloupe-e2e-host)")
	f.IntVar(&o.procs, "procs", procs, "tests at once (PROCS); 1 for those that are serial")
	f.IntVar(&o.cpus, "cpus", 0, "processors of a new machine; 2 by default")
	f.IntVar(&o.sockets, "sockets", 0, "sockets among which processors and memory of a new machine are divided, each a NUMA node; one by default")
	f.BoolVar(&o.inside, "inside", false, "run the tests' API server and etcd on the machine, too, which makes it slower, instead of on this host")
	f.BoolVar(&o.proxy, "cri-proxy", false, "with -host or -inside: the tests have a proxy between the agent and the runtime, by which tests with [Feature:CriProxy] make calls fail or last")
	f.BoolVar(&o.swap, "swap", false, "turn 256 MiB of swap on for this run; it is off otherwise")
	f.DurationVar(&o.timeout, "timeout", 3*time.Hour, "time for all tests, after which those that have not begun are left out")
	f.BoolVar(&o.keep, "keep", false, "leave the machine up")
	f.BoolVar(&o.compare, "compare", false, "run nothing: print the results in -out")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.agent = lab.AgentKind(*agent)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	case o.agent != lab.Kubeloupe && o.agent != lab.Upstream:
		return o, fmt.Errorf("agent %q: must be %s or %s", o.agent, lab.Kubeloupe, lab.Upstream)
	case o.procs < 1:
		return o, fmt.Errorf("-procs %d: must be 1 or more", o.procs)
	case o.timeout <= 0:
		return o, fmt.Errorf("-timeout %s: must be positive", o.timeout)
	case o.host && o.keep:
		return o, errors.New("-keep leaves the machine up: with -host, there is none")
	case o.inside && o.host:
		return o, errors.New("-inside is for the machine: with -host, there is none")
	case o.proxy && !o.host && !o.inside:
		return o, errors.New("-cri-proxy is for -host and -inside: otherwise the agent starts before the tests, and their proxy")
	case o.units && !o.host:
		return o, errors.New("-units is for -host: the machine has systemd")
	}
	return o.withPlaces()
}

// withPlaces sets the directories that were not given.
func (o options) withPlaces() (options, error) {
	results := "results"
	switch {
	case o.host:
		results = "host"
		o.dir = cmp.Or(o.dir, filepath.Join(os.TempDir(), "kubeloupe-e2e-host"))
	default:
		o.dir = cmp.Or(o.dir, os.Getenv("VM_DIR"), filepath.Join(os.TempDir(), "kubeloupe-e2e-node"))
	}
	if o.out != "" {
		return o, nil
	}
	cache, err := lab.Cache()
	o.out = filepath.Join(cache, "e2e-node", results)
	return o, err
}
