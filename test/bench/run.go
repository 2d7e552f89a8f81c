package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const defaultIdle = 30 * time.Second

type options struct {
	rows  string
	n     int
	bin   string
	idle  time.Duration
	slots int
	cpu   bool
	// pairs are of rows that compare the agent with itself; rounds and dir are of runs in a cluster.
	pairs  int
	rounds int
	dir    string
}

// side is a lab and what is heard of it.
type side struct {
	lab    *lab.Lab
	events *events
	cri    *direct
}

// bench is one run.
type bench struct {
	o     options
	dir   string
	agent *agent // on ours
	// config is added to the agent's configuration.
	config string
	ours   side
	twin   side
}

func run(ctx context.Context, o options) (err error) {
	rows, err := choose(o.rows)
	if err != nil {
		return err
	}
	dir, err := place()
	if err != nil {
		return err
	}
	b := &bench{o: o, dir: dir}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx); err != nil {
		return err
	}
	fmt.Printf("%s · %s · direct CRI calls against %s\n\n", time.Now().UTC().Format(time.DateTime), machine(), o.bin)
	fmt.Printf("%-34s %10s %10s %7s  %-8s %s\n", "row", "floor", "agent", "ratio", "target", "")
	for _, r := range rows {
		if err := r.run(ctx, b); err != nil {
			return fmt.Errorf("row %s: %w", r.name, err)
		}
	}
	return nil
}

func (b *bench) open(ctx context.Context) error {
	for i, s := range []*side{&b.ours, &b.twin} {
		l, err := lab.Up(ctx, lab.Config{Dir: filepath.Join(b.dir, fmt.Sprint("l", i)), Log: os.Stderr})
		if err != nil {
			return err
		}
		s.lab = l
		if s.cri, err = newDirect(l); err != nil {
			return err
		}
		if s.events, err = listen(ctx, s.cri); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close() error {
	var errs []error
	errs = append(errs, b.stopAgent())
	for _, s := range []*side{&b.ours, &b.twin} {
		if s.lab == nil {
			continue
		}
		if s.cri != nil {
			errs = append(errs, s.cri.conn.Close())
		}
		errs = append(errs, s.lab.Down(context.Background()))
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

func machine() string {
	return fmt.Sprintf("%d CPUs", numCPU())
}

func choose(names string) ([]row, error) {
	all := allRows()
	if names == "" {
		return all, nil
	}
	var out []row
	for n := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(r row) bool { return r.name == strings.TrimSpace(n) })
		if i < 0 {
			return nil, fmt.Errorf("-rows %q: want some of %s", n, strings.Join(rowNames(), ","))
		}
		out = append(out, all[i])
	}
	return out, nil
}
