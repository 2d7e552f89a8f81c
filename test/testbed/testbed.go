// Package testbed gives tests a cluster, and kubeloupe's program, in a directory of their own.
package testbed

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/product"
)

// Bed is a cluster without an agent yet. Use [New].
type Bed struct {
	*lab.Cluster
	// Dir is the directory, Binary the program in it.
	Dir, Binary string
}

// New builds the program and starts a cluster, in a temporary directory whose name begins with prefix. log takes what their programs print.
// It is for tests of packages two directories below the module's.
func New(prefix string, log io.Writer) (_ *Bed, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	b := &Bed{Dir: dir, Binary: filepath.Join(dir, "kubeloupe")}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if err := product.Build(ctx, b.Binary, "CGO_ENABLED=0"); err != nil {
		return nil, err
	}
	b.Cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: log})
	return b, err
}

// Close stops the cluster and removes the directory. Its error names what is left.
func (b *Bed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if b.Cluster != nil {
		if err := b.Down(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.Dir)
}
