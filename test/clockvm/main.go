package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm"
)

// scenario is one boot of the machine.
type scenario struct {
	name     string
	cgroupV1 bool
	sim      bool // on the simulated runtime
	alone    bool // without an agent
	run      func(ctx context.Context, n *node) []finding
}

func scenarios() []scenario {
	return []scenario{
		{name: "clock", run: clockSteps},
		{name: "clock-sim", sim: true, run: clockSteps},
		{name: "kill", cgroupV1: true, alone: true, run: killOnly},
		{name: "pids", cgroupV1: true, run: pidReuse}, // there the agent kills by number
		{name: "pids-v2", run: pidReuse},
	}
}

func main() {
	if vm.Inside() {
		vm.Init(inside)
	}
	only := flag.String("only", "", "scenarios, separated by commas: clock, clock-sim, kill, pids, pids-v2; all if empty")
	keep := flag.String("keep", "", "directory for the agents' records")
	verbose := flag.Bool("v", false, "show what the kernel says")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only, *keep, *verbose)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clockvm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, keep string, verbose bool) error {
	dir, err := os.MkdirTemp("", "kl-clockvm-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, err := tree(ctx, dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range scenarios() {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		fmt.Printf("== %s\n", s.name)
		m := vm.Machine{Args: []string{s.name}, Tree: files, CgroupV1: s.cgroupV1, Stdout: os.Stdout}
		if verbose {
			m.Console = os.Stderr
		}
		if keep != "" {
			if err := os.MkdirAll(keep, 0o755); err != nil {
				return err
			}
			f, err := os.Create(filepath.Join(keep, s.name+".tar.gz"))
			if err != nil {
				return err
			}
			m.Dump = f
			defer func() { _ = f.Close() }()
		}
		if err := vm.Run(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

const (
	guestCache  = "/cache"
	guestBinary = "/kubeloupe"
)

// tree is what the machine needs: the lab's programs and images as its cache, and the agent.
func tree(ctx context.Context, dir string) ([]vm.File, error) {
	binary := filepath.Join(dir, "kubeloupe")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "github.com/kubeloupe/kubeloupe/cmd/kubeloupe")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, said)
	}
	if err := lab.Build(ctx, os.Stderr); err != nil {
		return nil, err
	}
	tools, err := lab.Tools(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	cache, err := lab.Cache()
	if err != nil {
		return nil, err
	}
	files, err := vm.Libraries(ctx, filepath.Join(tools.Runc, "runc"))
	if err != nil {
		return nil, err
	}
	layouts, err := filepath.Glob(filepath.Join(cache, "images", "*", "layout"))
	if err != nil {
		return nil, err
	}
	for _, from := range layouts {
		rel, err := filepath.Rel(cache, from)
		if err != nil {
			return nil, err
		}
		small := filepath.Join(dir, rel)
		if err := copyImages(from, small, lab.ImagePause, lab.ImageBusybox); err != nil {
			return nil, err
		}
		files = append(files, vm.File{Path: filepath.Join(guestCache, rel), From: small})
	}
	for _, from := range []string{tools.Containerd, tools.Runc, tools.CNI, tools.Registry} {
		rel, err := filepath.Rel(cache, from)
		if err != nil {
			return nil, err
		}
		files = append(files, vm.File{Path: filepath.Join(guestCache, rel), From: from})
	}
	return append(files,
		vm.File{Path: guestBinary, From: binary, Mode: 0o755},
		vm.File{Path: "/usr/sbin/iptables", Text: "#!/bin/sh\nexit 1\n", Mode: 0o755}, // no pod has a port on the host
		vm.File{Path: "/etc/hosts", Text: "127.0.0.1 localhost\n"},
		vm.File{Path: "/etc/resolv.conf", Text: "nameserver 127.0.0.1\n"},
		vm.File{Path: "/etc/passwd", Text: "root:x:0:0:root:/root:/bin/sh\n"},
		vm.File{Path: "/etc/machine-id", Text: strings.Repeat("1", 32) + "\n"},
	), nil
}
