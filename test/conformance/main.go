package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// The tests that are run unless others are requested.
const (
	defaultFocus = `\[NodeConformance\]|\[sig-node\].*\[Conformance\]`
	defaultSkip  = `\[Serial\]|\[Slow\]|\[Disruptive\]`
)

// options are what the command line says.
type options struct {
	agent       lab.AgentKind
	program     string
	focus, skip string
	procs       int
	// gates are feature gates of the agent and of the control plane, as NAME=true,NAME=false.
	gates map[string]bool
	// dir is the lab's; "" means one of its own, in the temporary directory.
	dir           string
	keep, compare bool
	// proxy is the program whose proxy the agent is behind, in the first of two runs; "" means one run without.
	proxy string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// parse reads flags; make says the same by the environment.
func parse(args []string) (options, error) {
	var o options
	procs, err := strconv.Atoi(cmp.Or(os.Getenv("PROCS"), "8"))
	if err != nil || procs < 1 {
		return o, fmt.Errorf("PROCS=%s: want a number of processes, as 8", os.Getenv("PROCS"))
	}
	f := flag.NewFlagSet("conformance", flag.ExitOnError)
	agent := f.String("agent", cmp.Or(os.Getenv("AGENT"), string(lab.Kubeloupe)), "kubeloupe or upstream (AGENT)")
	f.StringVar(&o.program, "program", "", "the agent's executable; built or taken from the cache if empty")
	f.StringVar(&o.focus, "focus", os.Getenv("FOCUS"), "regular expression of the tests to run (FOCUS); with -proxy thirty by default")
	f.StringVar(&o.skip, "skip", cmp.Or(os.Getenv("SKIP"), defaultSkip), "regular expression of the tests to leave out (SKIP)")
	gates := f.String("gates", os.Getenv("GATES"), "feature gates of the agent and of the control plane, as NAME=true,NAME=false (GATES)")
	f.IntVar(&o.procs, "procs", procs, "tests at once (PROCS)")
	f.StringVar(&o.dir, "dir", os.Getenv("LAB_DIR"), "directory of the lab; a cluster that is up there is used, and left up (LAB_DIR)")
	f.StringVar(&o.proxy, "proxy", "", "run the tests twice: behind the proxy of this program, bin/kubeloupe, and without")
	f.BoolVar(&o.keep, "keep", false, "leave the cluster and the agent up")
	f.BoolVar(&o.compare, "compare", false, "run nothing: print what was kept")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.gates, err = parseGates(*gates); err != nil {
		return o, err
	}
	switch {
	case o.focus != "":
	case o.proxy != "":
		o.focus = focusOf(thirty)
	default:
		o.focus = defaultFocus
	}
	o.agent = lab.AgentKind(*agent)
	if o.agent != lab.Kubeloupe && o.agent != lab.Upstream {
		return o, fmt.Errorf("agent %q: want %s or %s", o.agent, lab.Kubeloupe, lab.Upstream)
	}
	if o.proxy != "" && o.agent != lab.Upstream {
		return o, fmt.Errorf("-proxy needs -agent %s", lab.Upstream)
	}
	if o.dir == "" {
		o.dir = filepath.Join(os.TempDir(), "kubeloupe-conformance")
	}
	return o, nil
}

// full says that the run is a whole one, fit to compare others with.
func (o options) full() bool {
	return o.focus == defaultFocus && o.skip == defaultSkip && len(o.gates) == 0
}
