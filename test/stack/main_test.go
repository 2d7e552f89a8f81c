package stack

import (
	"context"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
)

// wanted is the variable without which nothing is built and run.
const wanted = "KUBELOUPE_STACK"

var jaeger = flag.String("jaeger", "", "the program of a Jaeger 2; without it, the stack has no Jaeger")

func TestMain(m *testing.M) {
	if os.Getenv(wanted) == "" {
		os.Exit(m.Run())
	}
	ownnet.Main(m.Run, lab.BuildCluster, product.Fetch, built(lab.BuildCollector), built(lab.BuildPrometheus))
}

func built(by func(context.Context, io.Writer) (string, error)) func(context.Context, io.Writer) error {
	return func(ctx context.Context, log io.Writer) error {
		_, err := by(ctx, log)
		return err
	}
}
