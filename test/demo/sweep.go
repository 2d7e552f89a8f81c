package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// sweep deletes the pods that an agent left running, as quitting the UI does: an agent
// without manifests ends all that runs on its runtime, volumes and cgroups too. If it
// cannot, the pods are removed by force.
func (d *demo) sweep(ctx context.Context) error {
	if n, err := sandboxes(ctx, d.lab); err != nil || n == 0 {
		return err
	}
	d.say("deleting the pods")
	err := d.sweepByAgent(ctx)
	if err == nil {
		return nil
	}
	d.say("%v; removing them by force", err)
	return d.lab.RemovePods(ctx)
}

func (d *demo) sweepByAgent(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 45*time.Second, errors.New("the agent has not deleted the pods within 45s"))
	defer cancel()
	empty := filepath.Join(d.dir, "no-manifests")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return err
	}
	a, err := d.launch(empty)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.stop(nil)) }()
	for {
		if d.swept(ctx) {
			return nil
		}
		if _, err := a.next(ctx); err != nil {
			return err
		}
	}
}

// swept reports whether neither the runtime nor the node's directory has anything of a pod.
func (d *demo) swept(ctx context.Context) bool {
	left, err := filepath.Glob(filepath.Join(d.root(), "pods", "*"))
	if err != nil || len(left) > 0 {
		return false
	}
	n, err := sandboxes(ctx, d.lab)
	return err == nil && n == 0
}

// sandboxes counts the lab's pods.
func sandboxes(ctx context.Context, l *lab.Lab) (int, error) {
	conn, err := l.Dial()
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	r, err := runtimeapi.NewRuntimeServiceClient(conn).ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return 0, err
	}
	return len(r.Items), nil
}
