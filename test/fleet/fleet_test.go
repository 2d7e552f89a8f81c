package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
)

func TestMain(m *testing.M) {
	ownnet.Main(m.Run, lab.BuildCluster, product.Fetch, func(ctx context.Context, log io.Writer) error {
		_, err := lab.BuildCollector(ctx, log)
		return err
	})
}

// TestFleet is the smallest run: some starts on each node, to a receiver with TLS that is stopped for a while.
func TestFleet(t *testing.T) {
	if os.Getenv("KUBELOUPE_FLEET") == "" {
		t.Skip("it takes minutes, because counts are published once a minute: KUBELOUPE_FLEET=1")
	}
	ownnet.Need(t)
	dir := t.TempDir()
	o := options{starts: 4, outage: 4 * time.Second, rounds: 1, kinds: []string{"stopped"}, which: nodeKinds(), dir: filepath.Join(dir, "l"), bin: filepath.Join(dir, "kubeloupe"), tls: true, root: "../..", drawn: 2}
	if err := product.Build(t.Context(), o.bin, "CGO_ENABLED=0"); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o, t.Output()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(o.dir); err == nil {
		t.Errorf("%s is left", o.dir)
	}
}
