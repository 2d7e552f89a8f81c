package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// most is how large a recording may be, in bytes: it is checked in.
const most = 150 << 10

// session is one recording.
type session struct {
	name string
	make func(ctx context.Context, r *run) error
}

var sessions = []session{{"standalone", standalone}, {"cluster", cluster}, {"sim", simulated}}

// run is what the making of a session has.
type run struct {
	dir     string // scratch
	program string // kubeloupe
	file    string // the recording
}

func main() {
	out := flag.String("out", filepath.Join("tui", "testdata", "recordings"), "directory of the recordings")
	only := flag.String("only", "", "make these alone, comma-separated: standalone, cluster, sim")
	program := flag.String("program", "", "kubeloupe; built from this work tree if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := all(ctx, *out, *program, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "recordings:", err)
		os.Exit(1)
	}
}

func all(ctx context.Context, out, program, only string) (err error) {
	dir, err := os.MkdirTemp("", "klrec")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(dir)) }()
	if program == "" {
		program = filepath.Join(dir, "kubeloupe")
		if said, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/kubeloupe").CombinedOutput(); err != nil {
			return fmt.Errorf("build kubeloupe: %w: %s", err, said)
		}
	}
	for _, s := range sessions {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		r := &run{dir: filepath.Join(dir, s.name), program: program, file: filepath.Join(dir, s.name+".klr")}
		if err := os.Mkdir(r.dir, 0o755); err != nil {
			return err
		}
		if err := s.make(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := keep(r.file, filepath.Join(out, s.name+".klr")); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a directory with what agents have mounted there for their pods, which are gone.
func remove(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	var bad error
	for line := range strings.Lines(string(mounts)) {
		at := strings.Fields(line)[1]
		if !strings.HasPrefix(at, dir+"/") {
			continue
		}
		if said, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			bad = errors.Join(bad, fmt.Errorf("umount %s: %w: %s", at, err, said))
		}
	}
	return errors.Join(bad, os.RemoveAll(dir))
}

// keep puts a recording in its place, unless it is too large.
func keep(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", to, len(data))
	if len(data) > most {
		return fmt.Errorf("%s has %d bytes: want at most %d", from, len(data), most)
	}
	return os.WriteFile(to, data, 0o644)
}

// step is something that happens some time after the step before it.
type step struct {
	after time.Duration
	what  string
	do    func(context.Context) error
}

// play carries out steps.
func play(ctx context.Context, steps []step) error {
	for _, s := range steps {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(s.after):
		}
		fmt.Println(" ", s.what)
		if s.do == nil {
			continue
		}
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}
