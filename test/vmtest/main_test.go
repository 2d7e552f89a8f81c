package vmtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
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
			if out, err := exec.CommandContext(t.Context(), "ip", "address", "add", node.Address+"/32", "dev", "lo").CombinedOutput(); err != nil {
				return nil, fmt.Errorf("ip address add: %w: %s", err, out)
			}
		}
		b, err := vmbench.New(t.Output(), held, func(cfg *node.Config) { cfg.Agent, cfg.Disks, cfg.Reachable = node.Kubeloupe, true, true })
		return &bench{b}, err
	},
	Close: func(b *bench) error { return b.Close() },
}

func TestMain(m *testing.M) {
	vmbench.Main(wanted, "make vm-test", func() int { return shared.Run(m) }, func(ctx context.Context, log io.Writer) error {
		_, err := lab.ConformanceTests(ctx, log)
		return err
	})
}

// setup returns the bench, with kubeloupe as the node's agent.
func setup(t *testing.T) *bench {
	t.Helper()
	b := shared.Get(t)
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
