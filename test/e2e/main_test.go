package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
)

const (
	// deadline is how long a test waits for one thing on a machine that is busy.
	deadline = 60 * time.Second
	// cleanup is how long everything of a node's pods may take to be gone: less than garbage
	// collection's period, which would hide what a pod's end forgets.
	cleanup = 30 * time.Second
)

var onCRIO = flag.Bool("crio", false, "run on CRI-O instead of containerd; it is built once: some ten minutes")

// bench is what all tests share: the laboratory, the binary and connections.
type bench struct {
	*lab.Lab
	dir     string
	binary  string
	conn    *grpc.ClientConn
	runtime runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
}

var (
	shared    *bench
	errShared error
	once      sync.Once
)

func TestMain(m *testing.M) { ownnet.Main(func() int { return run(m) }, lab.Build, product.Fetch) }

func run(m *testing.M) int {
	code := m.Run()
	if shared != nil {
		if err := shared.close(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			code = max(code, 1)
		}
	}
	return code
}

// setup returns the bench, which the first test that asks for it builds.
func setup(t *testing.T) *bench {
	t.Helper()
	ownnet.Need(t)
	once.Do(func() { shared, errShared = newBench(t.Output()) })
	if errShared != nil {
		t.Fatal(errShared)
	}
	return shared
}

func newBench(log interface{ Write([]byte) (int, error) }) (*bench, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "kl-e2e-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, binary: filepath.Join(dir, "kubeloupe")}
	if err := product.Build(ctx, b.binary); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if b.Lab, err = lab.Up(ctx, lab.Config{Dir: filepath.Join(dir, "lab"), Log: log}); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if *onCRIO {
		crio, err := b.StartCRIO(ctx, lab.CRIOConfig{Log: log})
		if err != nil {
			return b, err
		}
		b.Lab = crio.Lab()
		if err := b.Pull(ctx, lab.ImageBusybox, lab.ImageHTTP); err != nil {
			return b, err
		}
	}
	if b.conn, err = b.Dial(); err != nil {
		return b, err
	}
	b.runtime = runtimeapi.NewRuntimeServiceClient(b.conn)
	b.images = runtimeapi.NewImageServiceClient(b.conn)
	return b, nil
}

// close takes the laboratory down. Its error names what would be left.
func (b *bench) close() error {
	if b.conn != nil {
		_ = b.conn.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if b.Lab != nil {
		if err := b.Down(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.dir)
}
