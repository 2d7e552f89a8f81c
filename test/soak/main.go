package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// options are what the command line says.
type options struct {
	dir, program, agent string
	profileTo           string
	minutes             float64
	pods, counts, alive int
}

// soak is one run.
type soak struct {
	options
	cluster *lab.Cluster
	client  kubernetes.Interface
	agent   *lab.Agent
	tally   tally
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.Getenv("LAB_DIR"), "directory of the lab; a cluster that is up there is used, and left up (LAB_DIR)")
	flag.StringVar(&o.program, "program", "", "the agent's executable; built or taken from the cache if empty")
	flag.StringVar(&o.agent, "agent", string(lab.Kubeloupe), "kubeloupe or upstream")
	flag.Float64Var(&o.minutes, "minutes", 30, "how long")
	flag.IntVar(&o.pods, "pods", 2000, "how many pods come and go")
	flag.IntVar(&o.counts, "counts", 10, "how often all pods end and what is left is counted; at least 2")
	flag.IntVar(&o.alive, "alive", 20, "how many pods live at once, at most")
	flag.StringVar(&o.profileTo, "profile", "", "write a CPU profile of the agent to this file, instead of saying what grew; at most 10 -minutes")
	flag.Parse()
	if o.dir == "" {
		o.dir = filepath.Join(os.TempDir(), "kubeloupe-soak")
	}
	if o.counts < 2 || o.pods < o.counts || o.alive < 1 || o.minutes <= 0 {
		fmt.Fprintln(os.Stderr, "soak: want -counts of at least 2, no fewer -pods than -counts, -alive of at least 1 and -minutes above 0")
		os.Exit(2)
	}
	if o.profileTo != "" && o.length() > maxProfile {
		fmt.Fprintf(os.Stderr, "soak: -profile: want at most %v -minutes, as long as an agent may be profiled\n", maxProfile.Minutes())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	s := &soak{options: o}
	if s.cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: o.dir, Log: os.Stderr}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx), err != nil)) }()
	if s.client, err = s.cluster.Client(); err != nil {
		return err
	}
	if err := s.makeObjects(ctx); err != nil {
		return err
	}
	s.agent, err = s.cluster.StartAgent(ctx, lab.AgentConfig{Kind: lab.AgentKind(o.agent), State: "soak", Program: o.program, Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := s.agent.WaitReady(ctx); err != nil {
		return err
	}
	fmt.Printf("%s is the node; %d pods in %.4g minutes, %d alive at most; log %s\n\n", o.agent, o.pods, o.minutes, o.alive, s.agent.LogFile)
	finish := s.profiling(ctx)
	defer func() { err = errors.Join(err, finish(err != nil)) }()
	printHead()
	counts := make([]count, 0, o.counts)
	began := time.Now()
	for i := range o.counts {
		// Each part has its time, of which what counting takes is a part.
		until := began.Add(time.Duration(float64(i+1) / float64(o.counts) * o.minutes * float64(time.Minute)))
		if err := s.part(ctx, o.pods/o.counts, until); err != nil {
			return err
		}
		c, err := s.count(ctx)
		if err != nil {
			return err
		}
		counts = append(counts, c)
		printRow(time.Since(began), s.tally.done.Load(), c)
	}
	if s.profileTo != "" {
		return errors.Join(s.tally.failed()...)
	}
	return verdict(counts, s.tally.failed())
}

// close ends what the run started. The lab's directory goes with it, so the agent's log is kept elsewhere if the run failed.
func (s *soak) close(ctx context.Context, failed bool) error {
	var errs []error
	if s.agent != nil {
		errs = append(errs, s.agent.Stop(ctx))
		if failed && !s.cluster.Existing {
			errs = append(errs, keep(s.agent.LogFile, s.dir+".log"))
		}
	}
	if !s.cluster.Existing {
		errs = append(errs, s.cluster.Down(ctx))
	}
	return errors.Join(errs...)
}

// keep copies a log, and says where it is.
func keep(from, to string) error {
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err == nil {
		fmt.Fprintln(os.Stderr, "the agent's log is kept:", to)
	}
	return err
}
