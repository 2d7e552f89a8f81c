package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/product"
)

// The bounds: how much more memory, and how much longer a start.
const (
	mostMemory = 1.5
	mostTime   = 1.5
)

func main() {
	denyMain()
	var names []string
	for _, f := range all() {
		names = append(names, f.name)
	}
	only := flag.String("only", "", "faults to bring about, separated by commas: "+strings.Join(names, ", ")+"; all if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1) //nolint:gocritic // nothing is deferred but the signal
	}
}

func run(ctx context.Context, only string, out io.Writer) (err error) {
	chosen := all()
	if only != "" {
		want := strings.Split(only, ",")
		chosen = slices.DeleteFunc(chosen, func(f *fault) bool { return !slices.Contains(want, f.name) })
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %s: there is no such fault", only)
	}
	s, err := newStage(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var results []result
	for _, f := range chosen {
		fmt.Fprintf(os.Stderr, "%s: %s\n", f.name, f.what)
		results = append(results, measure(ctx, s.Lab, s.binary, s.dir, f))
	}
	table(out, results)
	var errs []error
	for i := range results {
		errs = append(errs, results[i].verdict(true))
	}
	return errors.Join(errs...)
}

// stage is a lab and the agent's program.
type stage struct {
	*lab.Lab
	dir, binary string
}

func newStage(ctx context.Context, log io.Writer) (*stage, error) {
	dir, err := os.MkdirTemp("", "kl-faults-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, binary: filepath.Join(dir, "kubeloupe")}
	if err := product.Build(ctx, s.binary); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s.Lab, err = lab.Up(ctx, lab.Config{Dir: filepath.Join(dir, "lab"), Log: log}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := s.Down(ctx); err != nil {
		return err
	}
	return os.RemoveAll(s.dir)
}

// verdict is what is wrong with a result. Ratios of times are judged where nothing else runs on the machine only, and without what the
// runtime's own calls take longer: a container that writes logs as fast as it can has the runtime copy them.
func (r *result) verdict(times bool) error {
	switch {
	case r.err != nil:
		return fmt.Errorf("%s: %w", r.fault.name, r.err)
	case !r.up:
		return fmt.Errorf("%s: the agent is down", r.fault.name)
	case r.under > mostMemory*r.before:
		return fmt.Errorf("%s: the agent took %.0f MiB, before %.0f MiB", r.fault.name, r.under, r.before)
	case times && r.own() > mostTime:
		return fmt.Errorf("%s: another pod takes %.2f times as long to start, and %.2f times where the runtime is not counted", r.fault.name, r.ratio(took.whole), r.own())
	}
	return nil
}

func table(out io.Writer, results []result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "fault\tagent\tMiB before\tpeak under\tratio\tstart without\tunder\tratio (rounds)\tof which runtime\tunder\twhat")
	for i := range results {
		r := &results[i]
		up := "up"
		if r.err != nil || !r.up {
			up = "FAILED"
		}
		start := "no start"
		if len(r.with) > 0 {
			start = fmt.Sprintf("%.2f (%.2f–%.2f)", r.ratio(took.whole), slices.Min(r.ratios), slices.Max(r.ratios))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\n", r.fault.name, up, r.before, r.under, r.under/max(r.before, 1),
			ms(r.without, took.whole), ms(r.with, took.whole), start, ms(r.without, took.calls), ms(r.with, took.calls), r.fault.what)
	}
	_ = w.Flush()
}

func ms(starts []took, part func(took) time.Duration) time.Duration {
	return medianOf(starts, part).Round(time.Millisecond)
}
