package bench

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

// Deadline is how long a test waits for one thing on a node that emulation makes slow.
const Deadline = 10 * time.Minute

// Bench is a cluster with a node in a virtual machine.
type Bench struct {
	*lab.Cluster
	// VM is the node.
	VM *node.Machine
	// Dir has the files of both, and kubeloupe's program.
	Dir string

	held bool // another process has made it, and closes it
}

// Main is what TestMain does: it runs the tests in a network namespace of their own, if the variable wanted is set, which the target of make
// sets. more is prepared before, with the network of the machine.
func Main(wanted, target string, run func() int, more ...func(ctx context.Context, log io.Writer) error) {
	if os.Getenv(wanted) == "" {
		fmt.Println("skipped: " + target + " runs this")
		return
	}
	ownnet.Main(run, append(more, lab.BuildCluster, product.Fetch, func(ctx context.Context, log io.Writer) error {
		_, err := node.Debian(ctx, log, false)
		return err
	})...)
}

// New starts a cluster and its node. change completes the machine's configuration: cfg has the directory, the cluster, the log, and
// kubeloupe's program and unit. It is for tests of packages two directories below the module's. If the variable held names the directory
// of a bench that [Bench.Hold] keeps, New returns that.
func New(log io.Writer, held string, change func(cfg *node.Config)) (_ *Bench, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if dir := os.Getenv(held); dir != "" {
		return open(dir)
	}
	dir, err := os.MkdirTemp("", "kl-vm-")
	if err != nil {
		return nil, err
	}
	b := &Bench{Dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	program := filepath.Join(dir, "kubeloupe")
	if err := product.Build(ctx, program, "CGO_ENABLED=0"); err != nil {
		return nil, err
	}
	if b.Cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: log}); err != nil {
		return nil, err
	}
	cfg := node.Config{Dir: filepath.Join(dir, "vm"), Cluster: b.Cluster, Copy: node.Own(program, "../.."), Log: log}
	change(&cfg)
	if b.VM, err = node.Start(ctx, cfg); err != nil {
		return nil, err
	}
	return b, b.Ready(ctx)
}

func open(dir string) (*Bench, error) {
	vm, err := node.Open(filepath.Join(dir, "vm"))
	if err != nil {
		return nil, err
	}
	c, err := lab.OpenCluster(filepath.Join(dir, "lab"))
	return &Bench{Cluster: c, VM: vm, Dir: dir, held: true}, err
}

// Ready waits until the node is ready by the API server.
func (b *Bench) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
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

// Close ends the machine and takes the cluster down. Its error names what would be left.
func (b *Bench) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if b.held {
		return nil
	}
	if b.VM != nil {
		b.VM.Close()
	}
	if b.Cluster != nil {
		if err := b.Down(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.Dir)
}

// Hold keeps the node, for work by hand, until a file is removed that it names.
func (b *Bench) Hold(t *testing.T) {
	t.Helper()
	file := filepath.Join(b.Dir, "hold")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("remove %s to end; in the network namespace of process %d: %s", file, os.Getpid(), b.VM.Login())
	for {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}
