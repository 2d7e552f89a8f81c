// Package ownnet runs tests that start containers, in a network namespace of their own. What labs, CNI plugins, kube-proxy and
// kubelets write is for a whole namespace: rules of iptables, of which the first one for a port counts, bridges, routes and sysctls.
// So the labs of two test programs that run at once share none, and nothing that a killed one left can meet the next: a namespace goes
// with its last process.
//
// In such a namespace is a loopback device, which is up, and nothing else: nobody outside of the machine is reached.
package ownnet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// inside tells the process in the namespace from the one that makes it.
const inside = "KUBELOUPE_OWN_NET"

// Able is nil where containers can be started. It parses the program's flags.
func Able() error {
	if !flag.Parsed() {
		flag.Parse()
	}
	switch {
	case runtime.GOOS != "linux" || os.Geteuid() != 0:
		return errors.New("this test starts containers: it needs Linux and root")
	case testing.Short():
		return errors.New("this test starts containers: not with -short")
	}
	return nil
}

// Need skips a test where containers cannot be started.
func Need(t testing.TB) {
	t.Helper()
	if err := Able(); err != nil {
		t.Skip(err)
	}
}

// Main is what TestMain does: where containers can be started, it calls each of prepare, for all that needs the outer network, runs
// this program again in a namespace of its own, with the same arguments, and calls run there. Elsewhere it only calls run, which
// returns the exit code.
func Main(run func() int, prepare ...func(ctx context.Context, log io.Writer) error) {
	if Able() != nil {
		os.Exit(run())
	}
	if os.Getenv(inside) != "" {
		if err := loopbackUp(); err != nil {
			fail(err)
		}
		os.Exit(run())
	}
	for _, p := range prepare {
		if err := p(context.Background(), os.Stderr); err != nil {
			fail(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	err := runInside(cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fail(err)
	}
	os.Exit(0)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "tests in a network namespace of their own:", err)
	os.Exit(1)
}
