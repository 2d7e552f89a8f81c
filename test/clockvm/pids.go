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
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	fewPids = 1000 // the kernel begins again at 300
	forking = "while :; do (:); (:); (:); (:); done"
	forker  = "  terminationGracePeriodSeconds: 0\n  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, \"" + forking + "\"]}]\n"
	pidMax  = "/proc/sys/kernel/pid_max"
	victims = 4
)

// pidReuse has a pod fork without end while there are few process numbers, and pods end in whose cgroups processes are left that fork
// too, so that what is listed to be killed is soon the number of another: most likely of one of the many processes that begin meanwhile.
func pidReuse(ctx context.Context, n *node) []finding {
	p := &pidRun{node: n}
	if err := p.play(ctx); err != nil {
		p.look(false, "the scenario: %v", err)
	}
	return p.found
}

type pidRun struct {
	*node
	found []finding
}

func (p *pidRun) look(ok bool, format string, args ...any) {
	p.found = append(p.found, good(ok, format, args...))
	fmt.Println("  ", ok, fmt.Sprintf(format, args...))
}

func (p *pidRun) play(ctx context.Context) error {
	if _, err := p.run(ctx, "served", served); err != nil {
		return err
	}
	if _, err := p.run(ctx, "forker", forker); err != nil {
		return err
	}
	without, err := p.starts(ctx, 3)
	if err != nil {
		return err
	}
	before, err := p.pods(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(pidMax, []byte(strconv.Itoa(fewPids)), 0o644); err != nil {
		return err
	}
	mark := p.mark()
	forks, begun := forked(), time.Now()
	crowd := newCrowd()
	with, err := p.starts(ctx, 3)
	for i := 0; i < victims && err == nil; i++ {
		err = p.victim(ctx, i)
	}
	ended, seen := crowd.stop()
	rate := float64(forked()-forks) / time.Since(begun).Seconds()
	_ = os.WriteFile(pidMax, []byte("32768"), 0o644)
	if err != nil {
		return err
	}
	p.look(rate > 0, "%.0f new processes a second: each number is used again after %.1f s", rate, float64(fewPids-300)/rate)
	p.look(ended == 0, "innocent processes beside it: %d, of which %d were killed", seen, ended)
	now, err := p.pods(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"served", "forker"} {
		a, b := before[name], now[name]
		same := len(a.ContainerStatuses) == 1 && len(b.ContainerStatuses) == 1 && a.ContainerStatuses[0].ContainerID == b.ContainerStatuses[0].ContainerID
		p.look(same && b.Phase == v1.PodRunning, "%s: runs on, the same container", name)
	}
	killed := 0
	for _, r := range p.after(mark) {
		if e, ok := r.Event.(*trace.CgroupOp); ok && r.Edge == trace.EdgeEnd {
			killed += e.Killed
		}
	}
	p.look(killed > 0, "processes that the agent killed in cgroups of pods that ended: %d", killed)
	ratio := float64(median(with)) / float64(median(without))
	p.look(ratio < 1.5, "other pods' starts: beside the same load with many numbers %s %v, with few %s %v: %.2f times",
		median(without).Round(time.Millisecond), rounded(without), median(with).Round(time.Millisecond), rounded(with), ratio)
	return nil
}

// victim is a pod that ends while processes which are not its containers' fork in its cgroup.
func (p *pidRun) victim(ctx context.Context, i int) error {
	name := fmt.Sprintf("victim-%d", i)
	if _, err := p.run(ctx, name, plain); err != nil {
		return err
	}
	uid := ""
	for _, r := range p.after(0) {
		if ofPod(&r, name) && r.Pod.UID != "" {
			uid = r.Pod.UID
		}
	}
	var shells []*exec.Cmd
	for range 2 {
		c := exec.Command("sh", "-c", forking)
		if err := c.Start(); err != nil {
			return err
		}
		shells = append(shells, c)
		if err := enter(p.CgroupRoot, uid, c.Process.Pid); err != nil {
			return err
		}
	}
	err := p.drop(ctx, name)
	for _, c := range shells {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	return err
}

// enter puts a process into the cgroups of a pod.
func enter(root, uid string, pid int) error {
	found := false
	for _, top := range []string{filepath.Join("/sys/fs/cgroup", root), "/sys/fs/cgroup/*" + root} {
		dirs, _ := filepath.Glob(top)
		for _, d := range dirs {
			err := filepath.WalkDir(d, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.IsDir() || e.Name() != "pod"+uid {
					return nil //nolint:nilerr // it is being removed
				}
				found = true
				if _, err := os.Stat(filepath.Join(path, "cgroup.controllers")); err == nil {
					path = filepath.Join(path, "left") // version 2: only a cgroup without children has processes
					if err := os.MkdirAll(path, 0o755); err != nil {
						return err
					}
				}
				return os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
			})
			if err != nil {
				return err
			}
		}
	}
	if !found {
		return errors.New("the pod has no cgroup")
	}
	return nil
}

// forked is how many processes there were since boot.
func forked() int {
	text, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(text)) {
		if s, ok := strings.CutPrefix(line, "processes "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(s))
			return n
		}
	}
	return 0
}

// crowd are processes that begin all the time, so that they get the numbers of others, and live for some seconds.
type crowd struct {
	quit   chan struct{}
	done   chan struct{}
	killed atomic.Int64
	seen   atomic.Int64
}

// atOnce is how many there are at a time.
const atOnce = 60

func newCrowd() *crowd {
	c := &crowd{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		var all []*exec.Cmd
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for on := true; on; {
			select {
			case <-c.quit:
				on = false
			case <-tick.C:
				cmd := exec.Command("sleep", "10000")
				if cmd.Start() == nil {
					all = append(all, cmd)
					c.seen.Add(1)
				}
			}
			for len(all) > 0 && (!on || len(all) > atOnce) {
				c.end(all[0])
				all = all[1:]
			}
		}
	}()
	return c
}

// end ends one by SIGINT: who ended by something else was killed by somebody else.
func (c *crowd) end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if !strings.Contains(cmd.ProcessState.String(), "interrupt") {
		c.killed.Add(1)
		fmt.Println("  an innocent process ended:", cmd.ProcessState)
	}
}

func (c *crowd) stop() (killed, seen int64) {
	close(c.quit)
	<-c.done
	return c.killed.Load(), c.seen.Load()
}
