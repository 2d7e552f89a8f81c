package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	veryFewPids = 450 // the kernel begins again at 300
	killRoot    = "/clockvm"
	killFor     = time.Minute
)

// killOnly has the part of the agent that kills processes by number do that alone, without a runtime, many times: the cgroup of a pod is
// destroyed while processes in it fork without end, and all numbers that become free are soon those of innocent processes.
func killOnly(ctx context.Context, _ *node) []finding {
	bus := trace.NewBus(0)
	c := bus.Subscribe(trace.FromOldest)
	defer c.Close()
	m, err := cgroup.New(cgroup.Config{Root: killRoot, Bus: bus})
	if err != nil {
		return []finding{good(false, "cgroups: %v", err)}
	}
	if err := errors.Join(makeRoots(), m.EnsureTiers(ctx)); err != nil {
		return []finding{good(false, "cgroups of tiers: %v", err)}
	}
	if err := os.WriteFile(pidMax, []byte(strconv.Itoa(veryFewPids)), 0o644); err != nil {
		return []finding{good(false, "%v", err)}
	}
	forks, begun := forked(), time.Now()
	crowd := newCrowd()
	rounds, failed := 0, error(nil)
	for ; time.Since(begun) < killFor && failed == nil; rounds++ {
		failed = killRound(ctx, m, types.UID(fmt.Sprintf("%08d", rounds)))
	}
	killed, seen := crowd.stop()
	rate := float64(forked()-forks) / time.Since(begun).Seconds()
	_ = os.WriteFile(pidMax, []byte("32768"), 0o644)
	ours := 0
	for buf := make([]trace.Record, 0, 64); ; {
		recs, _ := c.Poll(buf)
		if len(recs) == 0 {
			break
		}
		for _, r := range recs {
			if e, ok := r.Event.(*trace.CgroupOp); ok && r.Edge == trace.EdgeEnd {
				ours += e.Killed
			}
		}
	}
	return []finding{
		good(failed == nil, "cgroups destroyed: %d (%v)", rounds, failed),
		good(ours > 0, "processes in them that were killed: %d", ours),
		good(rate > 0, "%.0f new processes a second: each number is used again after %.1f s", rate, float64(veryFewPids-300)/rate),
		good(killed == 0, "innocent processes beside it: %d, of which %d were killed", seen, killed),
	}
}

// killRound makes a pod's cgroup with processes that fork, and destroys it.
func killRound(ctx context.Context, m *cgroup.Manager, uid types.UID) error {
	pod := &v1.Pod{}
	pod.UID = uid
	if err := m.EnsurePod(ctx, pod); err != nil {
		return err
	}
	var shells []*exec.Cmd
	for range 3 {
		c := exec.Command("sh", "-c", forking)
		if c.Start() != nil {
			continue // no number was free
		}
		shells = append(shells, c)
		go func() { _ = c.Wait() }()
		if err := enter(killRoot, string(uid), c.Process.Pid); err != nil {
			return err
		}
	}
	time.Sleep(50 * time.Millisecond)
	err := m.DestroyPod(ctx, uid)
	for _, c := range shells {
		_ = c.Process.Kill()
	}
	return err
}

// makeRoots makes the cgroup that stands for the node's root, in each hierarchy.
func makeRoots() error {
	tops, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil {
		return err
	}
	for _, t := range tops {
		dir := filepath.Join(filepath.Dir(t), killRoot)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(t), f)); err == nil {
				if err := os.WriteFile(filepath.Join(dir, f), text, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
