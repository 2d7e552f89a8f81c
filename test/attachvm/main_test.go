package attachvm

import (
	"os"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/ownnet"
	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// wanted is the variable that make attach-vm sets.
	wanted = "KUBELOUPE_ATTACH_VM"
	// held is the directory of a bench that TestHold keeps, to run tests there: in its network namespace.
	held = "KUBELOUPE_ATTACH_VM_HELD"
	// deadline is how long a test waits for one thing.
	deadline = vmbench.Deadline
)

// bench is what all tests share: a cluster, a node of it with upstream's kubelet, and kubeloupe's program there.
type bench struct{ *vmbench.Bench }

var shared = ownnet.Shared[*bench]{
	Build: func(t *testing.T) (*bench, error) {
		b, err := vmbench.New(t.Output(), held, func(cfg *node.Config) {
			delete(cfg.Copy, node.UnitFile) // the node is the kubelet's
		})
		return &bench{b}, err
	},
	Close: func(b *bench) error { return b.Close() },
}

func TestMain(m *testing.M) {
	vmbench.Main(wanted, "make attach-vm", func() int { return shared.Run(m) })
}

func setup(t *testing.T) *bench {
	t.Helper()
	return shared.Get(t)
}

// TestHold keeps the node while its directory exists, for work by hand: it prints how to reach it.
func TestHold(t *testing.T) {
	if os.Getenv("KUBELOUPE_ATTACH_VM_HOLD") == "" {
		t.Skip("only by hand")
	}
	setup(t).Hold(t)
}
