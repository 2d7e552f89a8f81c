package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/term"
)

func main() {
	var o options
	flag.StringVar(&o.runtime, "runtime", auto, "auto, containerd (a private one) or sim (simulated, in memory)")
	flag.StringVar(&o.bin, "bin", "", "the agent; empty builds bin/kubeloupe")
	flag.StringVar(&o.labDir, "lab-dir", os.Getenv("LAB_DIR"), "directory of the lab; empty takes a temporary one")
	noTUI := flag.Bool("no-tui", false, "print lines even on a terminal")
	flag.Parse()
	o.out, o.log = os.Stdout, os.Stderr
	o.terminal = !*noTUI && isTerminal(os.Stdin) && isTerminal(os.Stdout) && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""

	endWithGo()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, o)
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "demo: interrupted; all is cleaned up")
		os.Exit(130) //nolint:gocritic // nothing is deferred but the signal
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// The runtimes to ask for.
const (
	auto       = "auto"
	containerd = "containerd"
	sim        = "sim"
)

// choose returns the runtime to use, and why it is not the real one where that was not asked for.
func choose(want, goos string, uid int) (use, why string, err error) {
	switch want {
	case auto:
		switch {
		case goos != "linux":
			return sim, "real containers need Linux, and this is " + goos, nil
		case uid != 0:
			return sim, "real containers need root, and this is user " + fmt.Sprint(uid), nil
		}
		return containerd, "", nil
	case containerd:
		if goos != "linux" || uid != 0 {
			return "", "", errors.New("-runtime containerd: needs Linux and root")
		}
		return containerd, "", nil
	case sim:
		return sim, "", nil
	}
	return "", "", fmt.Errorf("-runtime %q: want auto, containerd or sim", want)
}

func chooseHere(want string) (use, why string, err error) {
	return choose(want, runtime.GOOS, os.Geteuid())
}
