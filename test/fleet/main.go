package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	starts int
	// outage is how long each kind of outage lasts, and the time without one beside it; 0: there is none.
	outage time.Duration
	rounds int
	kinds  []string
	which  []string // the kinds of nodes that start pods
	dir    string   // of the labs
	bin    string   // kubeloupe
	root   string   // directory of the module
	tls    bool     // the receiver has a certificate
	flood  bool     // a third agent fills its queue
	prom   bool     // Prometheus scrapes the nodes
	jaeger string   // the program to which the Collector sends spans on; none if empty
	twins  string   // two nodes of one kind are compared, of which one has an outage, or sends spans; empty: they are not
	drawn  int      // how many starts of each node the program draws; the others are drawn in this process
}

func main() {
	var o options
	var only, nodes string
	flag.IntVar(&o.starts, "starts", 200, "how many pods start on each node, while all is well; 0: only the flood")
	flag.DurationVar(&o.outage, "outage", time.Minute, "how long each outage of the receiver lasts; 0 for none")
	flag.IntVar(&o.rounds, "rounds", 2, "how many outages of each kind there are")
	flag.StringVar(&only, "only", "", "comma-separated kinds of outages, all by default: "+strings.Join(kinds(), ","))
	flag.StringVar(&nodes, "nodes", strings.Join(nodeKinds(), ","), "comma-separated kinds of nodes that start pods, one after the other")
	flag.StringVar(&o.bin, "bin", "bin/kubeloupe", "the program")
	flag.StringVar(&o.dir, "dir", "", "directory that is created for the labs and removed; by default, a temporary one")
	flag.BoolVar(&o.prom, "prometheus", true, "let Prometheus scrape the nodes, with our alerts")
	flag.BoolVar(&o.flood, "flood", true, "let an agent on the simulated runtime start pods until its queue of spans is full")
	flag.StringVar(&o.jaeger, "jaeger", "", "the program of a Jaeger 2 to which the Collector sends spans on, and from which starts are read back")
	flag.StringVar(&o.twins, "twins", "", "compare two nodes of kubeloupe (-nodes own) at the same time, of which, in turn, one has an outage (outage), or one sends spans (export)")
	flag.BoolVar(&o.tls, "tls", false, "the receiver has TLS")
	flag.Parse()
	o.drawn, o.root = 20, "."
	if o.kinds = kinds(); only != "" {
		o.kinds = strings.Split(only, ",")
	}
	o.which = strings.Split(nodes, ",")
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if o.twins != "" {
		do = runTwins
	}
	if err := do(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signal
	}
}

// check returns what is wrong with the options.
func (o *options) check() (err error) {
	if o.starts < 0 || o.rounds < 1 || o.outage < 0 {
		return fmt.Errorf("-starts %d, -rounds %d, -outage %s: want 0 or more, 1 or more, and no negative time", o.starts, o.rounds, o.outage)
	}
	for _, k := range o.kinds {
		if outages[k] == nil {
			return fmt.Errorf("-only %q: want some of %s", k, strings.Join(kinds(), ","))
		}
	}
	for i, k := range o.which {
		if makers[k] == nil || slices.Contains(o.which[:i], k) {
			return fmt.Errorf("-nodes %q: want some of %s, each once", k, strings.Join(nodeKinds(), ","))
		}
	}
	if err := o.checkTwins(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("needs root: it starts real containers")
	}
	o.bin, err = filepath.Abs(o.bin)
	return err
}

// checkTwins returns what is wrong with the options for a comparison of two nodes.
func (o *options) checkTwins() error {
	switch {
	case o.twins == "":
		return nil
	case o.twins != twinsOutage && o.twins != twinsExport:
		return fmt.Errorf("-twins %q: want %s or %s", o.twins, twinsOutage, twinsExport)
	case !slices.Equal(o.which, []string{"own"}) || o.prom || o.flood || o.starts == 0 || o.outage == 0:
		return errors.New("-twins: want -nodes own, -prometheus=false, -flood=false, and neither -starts nor -outage 0")
	}
	return nil
}
