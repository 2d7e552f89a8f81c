package lab

import (
	"context"
	"io"
)

// Build builds all that [Up] would, so that it needs no network beyond this
// machine; one line for each thing built goes to log, which may be nil. The
// first time it takes minutes. Concurrent calls build each thing once.
func Build(ctx context.Context, log io.Writer) error {
	b, err := newBuilder(log)
	if err != nil {
		return err
	}
	_, _, err = b.prepare(ctx)
	return err
}

// BuildCluster is [Build] for [UpCluster]: Kubernetes takes some ten minutes
// more on two processors.
func BuildCluster(ctx context.Context, log io.Writer) error {
	b, err := newBuilder(log)
	if err != nil {
		return err
	}
	if _, _, err := b.prepare(ctx); err != nil {
		return err
	}
	_, err = b.cluster(ctx)
	return err
}
