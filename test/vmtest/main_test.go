package vmtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// wanted is the variable that make vm-test sets.
	wanted = "KUBELOUPE_VM"
	// held is the directory of a bench that TestHold keeps, to run tests there: in its network namespace.
	held = "KUBELOUPE_VM_HELD"
)

// bench is what all tests share: a cluster and its node, with kubeloupe and upstream's kubelet as units, of which one runs.
type bench struct{ *vmbench.Bench }

var shared = ownnet.Shared[*bench]{
	Build: func(t *testing.T) (*bench, error) {
		if os.Getenv(held) == "" { // the network namespace is this process's own
			if err := reach(t.Context()); err != nil {
				return nil, err
			}
		}
		b, err := vmbench.New(t.Output(), held, func(cfg *node.Config) {
			cfg.Agent, cfg.Disks, cfg.Reachable = node.Kubeloupe, true, true
			cfg.CPUs = 3 // one that is reserved, and two that a container can have for itself
		})
		return &bench{b}, err
	},
	Close: func(b *bench) error { return b.Close() },
}

// reach gives this machine the node's address. Who connects to it does so from 127.0.0.1: to the node, the emulator shows that as its gateway, and
// the node would drop packets that come from its own address.
func reach(ctx context.Context) error {
	for _, args := range [][]string{
		{"address", "add", node.Address + "/32", "dev", "lo"},
		{"route", "replace", "local", node.Address, "dev", "lo", "proto", "kernel", "scope", "host", "src", "127.0.0.1", "table", "local"},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// fetchPackageCheck gets the modules that build packages: without a network, as in the tests, they cannot be had.
func fetchPackageCheck(ctx context.Context, _ io.Writer) error {
	get := exec.CommandContext(ctx, "go", "mod", "download")
	get.Dir = filepath.Join("..", "packagecheck")
	if out, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod download in %s: %w: %s", get.Dir, err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	vmbench.Main(wanted, "make vm-test", func() int { return shared.Run(m) }, func(ctx context.Context, log io.Writer) error {
		_, err := lab.ConformanceTests(ctx, log)
		return err
	}, fetchPackageCheck, func(ctx context.Context, log io.Writer) error {
		if !namesSELinux() {
			return nil
		}
		_, err := node.Debian(ctx, log, true)
		return err
	})
}

// setup returns the bench, with kubeloupe as the node's agent.
func setup(t *testing.T) *bench {
	t.Helper()
	b := shared.Get(t)
	before, _, err := b.VM.Panics()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		if err := b.VM.Crashed(before); err != nil {
			t.Log(err)
		}
	})
	b.agent(t, node.Kubeloupe)
	return b
}

// TestHold keeps the node while its directory exists, for work by hand: it prints how to reach it.
func TestHold(t *testing.T) {
	if os.Getenv("KUBELOUPE_VM_HOLD") == "" {
		t.Skip("only by hand")
	}
	setup(t).Hold(t)
}
