package cluster

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
)

// deadline is how long a test waits for one thing on a machine that is busy.
const deadline = 60 * time.Second

// existing is the lab with a cluster to use, and to leave, in place of one of its own.
var existing = os.Getenv("KUBELOUPE_CLUSTER_DIR")

var (
	outage = flag.Duration("outage", 45*time.Second, "how long the API server is gone")
	many   = flag.Int("pods", 30, "how many pods are started at once")
)

// bench is what all tests share: the cluster, the binary and a client.
type bench struct {
	*lab.Cluster
	dir, binary string
	client      kubernetes.Interface
}

var shared = ownnet.Shared[*bench]{Build: func(t *testing.T) (*bench, error) { return newBench(t.Output()) }, Close: (*bench).close}

func TestMain(m *testing.M) {
	run := func() int { return shared.Run(m) }
	if existing != "" {
		os.Exit(run())
	}
	ownnet.Main(run, lab.BuildCluster, product.Fetch, func(ctx context.Context, log io.Writer) error {
		_, err := lab.BuildDRADriver(ctx, log) // its modules come from outside
		return err
	})
}

// setup returns the bench, which the first test that asks for it builds.
func setup(t *testing.T) *bench {
	t.Helper()
	return shared.Get(t)
}

func newBench(log io.Writer) (_ *bench, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "kl-cluster-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, binary: cmp.Or(os.Getenv("KUBELOUPE_BINARY"), filepath.Join(dir, "kubeloupe"))}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if os.Getenv("KUBELOUPE_BINARY") == "" {
		if err := product.Build(ctx, b.binary, "CGO_ENABLED=0"); err != nil {
			return nil, err
		}
	}
	if b.Cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: cmp.Or(existing, filepath.Join(dir, "lab")), Log: log}); err != nil {
		return nil, err
	}
	b.client, err = b.Client()
	return b, err
}

// close takes the cluster down. Its error names what would be left.
func (b *bench) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if b.Cluster != nil && existing == "" {
		if err := b.Down(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.dir)
}
