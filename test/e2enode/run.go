package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/test/ginkgoreport"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

func run(ctx context.Context, o options, out io.Writer) error {
	var err error
	switch {
	case o.compare:
	case o.host:
		err = onHost(ctx, o, out)
	default:
		err = onMachine(ctx, o, out)
	}
	if err != nil {
		return err
	}
	return show(o.out, out)
}

// onMachine runs the tests in the machine of o.dir, and ends it if it was not up before.
func onMachine(ctx context.Context, o options, out io.Writer) (err error) {
	m, booted, err := machine(ctx, o, out)
	if err != nil {
		return err
	}
	if booted && !o.keep {
		defer func() { err = errors.Join(err, node.Down(context.WithoutCancel(ctx), o.dir)) }()
	}
	if o.agent == lab.Kubeloupe {
		if err := install(ctx, m, o.program); err != nil {
			return fmt.Errorf("install %s (make build): %w", o.program, err)
		}
	}
	return test(ctx, o, func(ctx context.Context, begin time.Time, dir string) (err error) {
		s := session{Machine: m, dir: "/root/" + workspace(begin)}
		if !o.inside {
			if s.api, err = startAPIServer(ctx, m, o, dir); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.api.close()) }()
		}
		if _, err := s.Run(ctx, s.begin(o)); err != nil {
			return fmt.Errorf("begin the tests: %w", err)
		}
		_, _ = fmt.Fprintf(out, "%s: the tests run, %d at once; on the machine, their output is in %s/results\n", o.agent, o.procs, s.dir)
		waited := s.wait(ctx, out)
		// What there is of the logs is kept, even if the tests were stopped.
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
		defer cancel()
		return errors.Join(waited, s.collect(after, dir), s.end(after))
	})
}

// test runs the tests, whose reports and logs go to a directory, and keeps their results there. That some failed is no error.
func test(ctx context.Context, o options, runTests func(ctx context.Context, begin time.Time, dir string) error) error {
	r := result{Agent: o.agent, Begin: time.Now().UTC().Truncate(time.Second), Focus: o.focus, Skip: o.skip}
	dir := filepath.Join(o.out, r.name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := runTests(ctx, r.Begin, dir); err != nil {
		return err
	}
	r.Seconds = time.Since(r.Begin).Seconds()
	var err error
	if r.Tests, err = ginkgoreport.Read(filepath.Join(dir, "report.json")); err != nil {
		return fmt.Errorf("run the tests: see %s: %w", filepath.Join(dir, "ginkgo.log"), err)
	}
	if len(r.Tests) == 0 {
		return fmt.Errorf("no test ran: is there one that -focus matches, but not -skip? See %s", filepath.Join(dir, "ginkgo.log"))
	}
	return r.write(dir)
}
