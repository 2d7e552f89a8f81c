package attachvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// wanted is the variable that make attach-vm sets.
	wanted = "KUBELOUPE_ATTACH_VM"
	// deadline is how long a test waits for one thing on a node that emulation makes slow.
	deadline = 10 * time.Minute
	// held is the directory of a bench that TestHold keeps, to run tests there: in its network namespace.
	held = "KUBELOUPE_ATTACH_VM_HELD"
)

// bench is what all tests share: a cluster, a node of it in a virtual machine, and kubeloupe there.
type bench struct {
	*lab.Cluster
	vm  *node.Machine
	dir string
	// held says that another process has made it, and closes it.
	held bool
}

var shared = ownnet.Shared[*bench]{Build: func(t *testing.T) (*bench, error) { return newBench(t.Output()) }, Close: (*bench).close}

func TestMain(m *testing.M) {
	if os.Getenv(wanted) == "" {
		fmt.Println("skipped: make attach-vm runs this")
		return
	}
	ownnet.Main(func() int { return shared.Run(m) }, lab.BuildCluster, product.Fetch, func(ctx context.Context, log io.Writer) error {
		_, err := node.Debian(ctx, log)
		return err
	})
}

func setup(t *testing.T) *bench {
	t.Helper()
	return shared.Get(t)
}

func newBench(log io.Writer) (_ *bench, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if dir := os.Getenv(held); dir != "" {
		return openBench(dir)
	}
	dir, err := os.MkdirTemp("", "kl-attachvm-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if err := product.Build(ctx, filepath.Join(dir, "kubeloupe"), "CGO_ENABLED=0"); err != nil {
		return nil, err
	}
	if b.Cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: log}); err != nil {
		return nil, err
	}
	vm := filepath.Join(dir, "vm")
	if err := os.Mkdir(vm, 0o700); err != nil {
		return nil, err
	}
	if b.vm, err = node.Start(ctx, node.Config{
		Dir: vm, Cluster: b.Cluster, Copy: map[string]string{"usr/local/bin/kubeloupe": filepath.Join(dir, "kubeloupe")}, Log: log,
	}); err != nil {
		return nil, err
	}
	return b, b.ready(ctx)
}

func openBench(dir string) (*bench, error) {
	vm, err := node.Open(filepath.Join(dir, "vm"))
	if err != nil {
		return nil, err
	}
	c, err := lab.OpenCluster(filepath.Join(dir, "lab"))
	return &bench{Cluster: c, vm: vm, dir: dir, held: true}, err
}

// ready waits until the node is ready by the API server.
func (b *bench) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for {
		out, err := b.Kubectl(ctx, "get", "node", node.Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && strings.TrimSpace(out) == "True" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the node does not get ready: %q, %w", out, errors.Join(err, ctx.Err()))
		case <-time.After(time.Second):
		}
	}
}

// close ends the machine and takes the cluster down. Its error names what would be left.
func (b *bench) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if b.held {
		return nil
	}
	if b.vm != nil {
		b.vm.Close()
	}
	if b.Cluster != nil {
		if err := b.Down(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.dir)
}

// TestHold keeps the node while its directory exists, for work by hand: it prints how to reach it.
func TestHold(t *testing.T) {
	if os.Getenv("KUBELOUPE_ATTACH_VM_HOLD") == "" {
		t.Skip("only by hand")
	}
	b := setup(t)
	file := filepath.Join(b.dir, "hold")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("remove %s to end; in the network namespace of process %d: %s", file, os.Getpid(), b.vm.Command(t.Context(), "COMMAND"))
	for {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}
