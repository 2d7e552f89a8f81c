package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/test/collector"
)

// node is a node whose starts are sent.
type node interface {
	// name is the node's, as its spans have it.
	name() string
	// pid is the process that sends.
	pid() int
	// start starts a pod, removes it, and returns how long its start took and the pod's name.
	start(ctx context.Context, n int) (took time.Duration, pod string, err error)
	// metrics is the URL of what Prometheus scrapes; socket is the control socket.
	metrics() string
	socket() string
	close(ctx context.Context) error
}

// makers start nodes, by their kind.
var makers = map[string]func(context.Context, *fleet) (node, error){"own": newOwn, "attached": newAttached}

func nodeKinds() []string { return []string{"own", "attached"} }

// fleet is one run.
type fleet struct {
	options
	out      io.Writer
	dir      string
	receiver *receiver
	ca       string // file with the CA of the receiver; empty without TLS
	nodes    []node
	scraper  *prometheus // nil if nobody scrapes
	behind   *jaeger     // nil if the Collector sends nothing on
	tallies  []*tally    // of the nodes
}

// tally is what is known of a node's starts.
type tally struct {
	pods    []string
	memory  map[string]int64 // the most of its process, by the kind of outage, in bytes
	began   int64            // its memory before the first start
	samples map[string]*sides
	blocks  sides // the medians of the times of blocks: the machine's other load differs more between them than between starts
	used    sides // the process's CPU time for a start and its end, of each block, in milliseconds
}

// sides are times in milliseconds, without an outage and with one.
type sides struct{ well, ill []float64 }

func (s *sides) of(ill bool) []float64 {
	if ill {
		return s.ill
	}
	return s.well
}

func (s *sides) add(ill bool, ms float64) {
	if ill {
		s.ill = append(s.ill, ms)
	} else {
		s.well = append(s.well, ms)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := o.makeDir()
	if err != nil {
		return err
	}
	f := &fleet{options: o, out: out, dir: dir}
	defer func() { err = errors.Join(err, f.close(context.WithoutCancel(ctx))) }()
	if o.starts == 0 {
		return f.flood(ctx)
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := f.all(ctx); err != nil {
		return err
	}
	f.sayf("%d starts on each of %d nodes in %s\n", o.starts, len(f.nodes), time.Since(began).Round(time.Second))
	if err := f.settled(ctx); err != nil {
		return err
	}
	if o.outage > 0 { // what arrived is judged even if an outage was not shown
		err = errors.Join(f.outages(ctx), f.settled(ctx))
	}
	if err = errors.Join(err, f.judge(ctx), f.compare()); o.flood {
		err = errors.Join(err, f.flood(ctx))
	}
	return err
}

// makeDir creates the directory of the labs.
func (o *options) makeDir() (string, error) {
	if o.dir == "" {
		return os.MkdirTemp("", "kl-fleet-")
	}
	return o.dir, os.Mkdir(o.dir, 0o755)
}

func (f *fleet) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(f.out, format, args...) // there is nowhere else to say it
}

// open starts the receiver and the nodes.
func (f *fleet) open(ctx context.Context) error {
	spans := filepath.Join(f.dir, "collector")
	if err := os.Mkdir(spans, 0o755); err != nil {
		return err
	}
	c, err := collector.New(ctx, spans, os.Stderr)
	if err != nil {
		return err
	}
	f.receiver = &receiver{collector: c, addr: c.Addr}
	if f.tls {
		ca, err := collector.NewCA(spans, "ca")
		if err != nil {
			return err
		}
		if c.TLS, err = ca.Issue("collector"); err != nil {
			return err
		}
		f.ca = ca.File
	}
	if f.jaeger != "" {
		if f.behind, err = newJaeger(ctx, f); err != nil {
			return err
		}
		c.To = f.behind.otlp
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	for _, kind := range f.which {
		n, err := makers[kind](ctx, f)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, n)
		memory, err := resident(n.pid())
		if err != nil {
			return err
		}
		f.tallies = append(f.tallies, &tally{memory: map[string]int64{}, began: memory, samples: map[string]*sides{}})
	}
	if f.prom {
		f.scraper, err = newPrometheus(ctx, f)
	}
	return err
}

func (f *fleet) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var errs []error
	if f.scraper != nil {
		errs = append(errs, f.scraper.process.stop())
	}
	for _, n := range f.nodes {
		errs = append(errs, n.close(ctx))
	}
	if f.receiver != nil {
		errs = append(errs, f.receiver.close())
	}
	if f.behind != nil {
		errs = append(errs, f.behind.process.stop())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s is left: %w", f.dir, err)
	}
	return os.RemoveAll(f.dir)
}

// all starts the pods of all nodes, one after the other on each, beside those of the others.
func (f *fleet) all(ctx context.Context) error {
	errs := make([]error, len(f.nodes))
	var wg sync.WaitGroup
	for i := range f.nodes {
		wg.Go(func() {
			for n := 0; n < f.starts && errs[i] == nil; n++ {
				errs[i] = f.one(ctx, i, "", false)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// each starts one pod on each node, one after the other. kind is that of the outages that are compared, if there are any.
func (f *fleet) each(ctx context.Context, kind string, ill bool) error {
	for i := range f.nodes {
		if err := f.one(ctx, i, kind, ill); err != nil {
			return err
		}
	}
	return nil
}

// one starts one pod on a node.
func (f *fleet) one(ctx context.Context, i int, kind string, ill bool) error {
	n, t := f.nodes[i], f.tallies[i]
	took, pod, err := n.start(ctx, len(t.pods))
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name(), err)
	}
	t.pods = append(t.pods, pod)
	memory, err := resident(n.pid())
	if err != nil {
		return err
	}
	of := ""
	if ill {
		of = kind
	}
	t.memory[of] = max(t.memory[of], memory)
	if kind == "" {
		return nil
	}
	t.of(kind).add(ill, float64(took)/float64(time.Millisecond))
	return nil
}

// of returns the samples of a kind of outage.
func (t *tally) of(kind string) *sides {
	s := t.samples[kind]
	if s == nil {
		s = &sides{}
		t.samples[kind] = s
	}
	return s
}
