package observers

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
	"github.com/kubeloupe/kubeloupe/test/testbed"
)

var (
	run      = flag.Bool("observers", false, "have pods start in the lab, and print the table")
	captures = flag.String("captures", "", "directory in which what was captured is kept, or is already: then nothing is run")
	kubelet  = flag.String("kubelet", "", "an older kubelet than the lab's: v1.34 or v1.31")
)

//go:embed pods.yaml
var manifest string

// bench is a cluster without an agent yet.
type bench struct {
	*testbed.Bed
	client kubernetes.Interface
}

var shared = ownnet.Shared[*bench]{Build: func(t *testing.T) (*bench, error) { return newBench(t.Output()) }, Close: func(b *bench) error { return b.Close() }}

func TestMain(m *testing.M) {
	flag.Parse()
	if !*run {
		os.Exit(m.Run())
	}
	ownnet.Main(func() int { return shared.Run(m) }, lab.BuildCluster, product.Fetch, func(ctx context.Context, log io.Writer) error {
		_, err := program(ctx, log)
		return err
	})
}

// program is the kubelet's; "" is the lab's.
func program(ctx context.Context, log io.Writer) (string, error) {
	if *kubelet == "" {
		return "", nil
	}
	return lab.BuildKubelet(ctx, *kubelet, log)
}

func newBench(log io.Writer) (*bench, error) {
	bed, err := testbed.New("kl-observers-", log)
	if err != nil {
		return nil, err
	}
	b := &bench{Bed: bed}
	if b.client, err = b.Client(); err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	return b, nil
}

// kubectl runs kubectl, which must succeed.
func (b *bench) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return out
}

// start starts a command of the program, whose output goes to a file; the returned function ends it.
func (b *bench) start(t *testing.T, log string, args ...string) (end func()) {
	t.Helper()
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := exec.Command(b.Binary, args...)
	c.Stdout, c.Stderr = f, f
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = c.Process.Signal(os.Interrupt)
		if err := <-done; err != nil {
			said, _ := os.ReadFile(log)
			t.Errorf("kubeloupe %q: %v\n%s", args, err, said)
		}
	}
	t.Cleanup(end)
	return end
}
