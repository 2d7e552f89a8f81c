package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// end fixes the network and ends the pods; it returns when nothing of them is left.
func (t *tour) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tourPatience)
	defer cancel()
	err := t.net.mend()
	for pod := range t.began {
		if e := os.Remove(t.file(pod)); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, t.until(ctx, "all its pods are gone", t.empty), t.removeImages(ctx))
}

// empty reports whether neither agent, runtime nor disk has a pod.
func (t *tour) empty(ctx context.Context) (bool, error) {
	if len(t.began) == 0 {
		return true, nil
	}
	rt, err := t.cri(ctx)
	if err != nil {
		return false, err
	}
	pods, err := rt.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return false, err
	}
	dirs, err := os.ReadDir(filepath.Join(t.root(), "pods"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return len(pods.GetItems()) == 0 && len(dirs) == 0 && len(t.node.agent.Pods()) == 0, nil
}

// until looks again and again until it is so.
func (t *tour) until(ctx context.Context, what string, so func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, tourPatience)
	defer cancel()
	tick := time.NewTicker(onceLook)
	defer tick.Stop()
	for {
		ok, err := so(ctx)
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the tour waited until %s: %w", what, ctx.Err()), err)
		}
	}
}
