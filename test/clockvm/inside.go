package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm"
)

// finding is one thing that was looked at.
type finding struct {
	ok   bool
	what string
}

func good(ok bool, format string, args ...any) finding {
	return finding{ok, fmt.Sprintf(format, args...)}
}

// whole is how long a scenario may take.
const whole = 25 * time.Minute

// inside runs a scenario in the machine, and prints what it found.
func inside(args []string) int {
	if err := os.Setenv("KUBELOUPE_CACHE", guestCache); err != nil {
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), whole)
	defer cancel()
	for _, s := range scenarios() {
		if len(args) == 1 && s.name == args[0] {
			return play(ctx, s)
		}
	}
	fmt.Println("no such scenario:", args)
	return 2
}

func play(ctx context.Context, s scenario) int {
	begun := time.Now()
	n, err := begin(ctx, s)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	fmt.Printf("ready after %s\n", time.Since(begun).Round(time.Second))
	found := s.run(ctx, n)
	if n != nil {
		found = append(found, n.close()...)
		dump()
	}
	bad := 0
	for _, f := range found {
		word := "ok  "
		if !f.ok {
			word, bad = "FAIL", bad+1
		}
		fmt.Println(word, f.what)
	}
	fmt.Printf("%s: %d failed, %s\n", s.name, bad, time.Since(begun).Round(time.Second))
	return min(bad, 1)
}

// begin starts the lab and the agent, as far as the scenario has them.
func begin(ctx context.Context, s scenario) (*node, error) {
	var l *lab.Lab
	var err error
	switch {
	case s.alone:
		return nil, nil //nolint:nilnil // there is none
	case !s.sim:
		l, err = lab.Up(ctx, lab.Config{Dir: "/lab", Preload: []lab.Image{lab.ImageBusybox}, Patience: 10, Log: os.Stdout})
		if err != nil {
			return nil, fmt.Errorf("the lab: %w", err)
		}
	}
	n, err := newNode(ctx, l, "/node")
	if err != nil {
		said, _ := exec.Command("tail", "-n", "20", "/node/agent.log").CombinedOutput()
		return nil, fmt.Errorf("the agent: %w; it said:\n%s", err, said)
	}
	return n, nil
}

// dump takes the agent's records and logs out.
func dump() {
	f, err := os.OpenFile(vm.DumpFile, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	cmd := exec.Command("tar", "-czf", "-", recordsFile, "/node/agent.log", "/lab/containerd.log")
	cmd.Stdout, cmd.Stderr = f, io.Discard
	_ = cmd.Run()
}
