// Command fuzz runs the module's fuzz targets in turn, each for a while, and prints a table: how long, how many executions, how many
// inputs that went where none had gone, and whether it failed. It ends with 1 if one did. What made it fail is in the package's
// testdata/fuzz then, and is run by every go test from there on; what was interesting is in Go's build cache, where the next run begins.
//
// It owns nothing and publishes nothing; one go test runs at a time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	each := f.Duration("time", 10*time.Minute, "how long each target runs")
	only := f.String("run", "", "run targets that match this regular expression only, as agent/logs.FuzzTail")
	parallel := f.Int("parallel", 1, "processes that fuzz one target")
	path := f.String("out", "", "write the table to this file, too")
	list := f.Bool("list", false, "list the targets, and run none")
	if err := f.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	targets, err := find(ctx, match)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("no target matches -run %q", *only)
	}
	out := io.Writer(os.Stdout)
	if *path != "" {
		file, err := os.Create(*path)
		if err != nil {
			return fmt.Errorf("-out: %w", err)
		}
		defer file.Close() //nolint:errcheck // each line was written
		out = io.MultiWriter(out, file)
	}
	var unwritten error
	line := func(format string, args ...any) {
		if _, err := fmt.Fprintf(out, format+"\n", args...); err != nil {
			unwritten = fmt.Errorf("write the table: %w", err)
		}
	}
	if *list {
		for _, t := range targets {
			line("%s", t)
		}
		return unwritten
	}
	line("%-52s %9s %12s %6s  %s", "target", "time", "executions", "new", "result")
	failed := 0
	for _, t := range targets {
		r := t.fuzz(ctx, *each, *parallel)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.failed {
			failed++
		}
		line("%-52s %9s %12d %6d  %s", t, r.took.Round(time.Second), r.executions, r.fresh, r.text)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(targets))
	}
	return unwritten
}
