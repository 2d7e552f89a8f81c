package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// standalone is a node without a cluster, on containerd, which tells its spans.
func standalone(ctx context.Context, r *run) (err error) {
	l, err := lab.Up(ctx, lab.Config{Dir: filepath.Join(r.dir, "lab"), Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Down(context.WithoutCancel(ctx))) }()
	if err := l.SetLimits(ctx, lab.Limits{Rate: 8 << 20, Latency: 20 * time.Millisecond}); err != nil {
		return err
	}
	env := environ(l.Env())
	env["SCRATCH"] = filepath.Join(r.dir, "scratch")
	if err := os.Mkdir(env["SCRATCH"], 0o755); err != nil {
		return err
	}
	a, err := r.start("imageGCHighThresholdPercent: 2\nimageGCLowThresholdPercent: 1\n", env,
		"--container-runtime-endpoint", l.RuntimeEndpoint, "--cgroup-root", l.CgroupRoot,
		"--otlp-http", fmt.Sprintf("127.0.0.1:%d", l.OTLPPort), "--cni-bin-dir", l.CNIBinDir)
	if err != nil {
		return err
	}
	err = play(ctx, []step{
		{time.Second, "pods appear", a.put("web", "files", "typo", "crash", "leaving")},
		{3 * time.Second, "two pods of an image of 60 MiB, from a slow registry", a.put("cart", "cart-2")},
		{12 * time.Second, "a pod is deleted", a.remove("leaving")},
		{4 * time.Second, "the pod network goes", moveNetwork(l.CNIConfDir, l.CNIConfDir+".away")},
		{2 * time.Second, "a pod appears", a.put("late")},
		{7 * time.Second, "the pod network is back", moveNetwork(l.CNIConfDir+".away", l.CNIConfDir)},
		{35 * time.Second, "the end", nil}, // with a collection of containers, after a minute
	})
	return errors.Join(err, a.stop(ctx))
}

// moveNetwork moves the configuration of the pod network out of the runtime's sight, or back. The
// runtime does not notice files that are renamed into its directory: they are written.
func moveNetwork(from, to string) func(context.Context) error {
	return func(context.Context) error {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(from, "*"))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
		return nil
	}
}
