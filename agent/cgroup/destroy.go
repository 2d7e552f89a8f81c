package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

// errNoDevice is the error of a read from a cgroup that is being removed.
const errNoDevice = unix.ENODEV

// The kernel takes a moment to remove a killed process. The pauses between attempts double from 1 ms to 100 ms: 2.5 s
// in total.
const (
	destroyTries = 30
	longestPause = 100 * time.Millisecond
)

// DestroyPod kills all processes in the pod's cgroups and removes the cgroups from every hierarchy. It is no error if
// the pod has none. Stop the containers first: the remaining processes are killed without a grace period.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, Destroy.
func (m *Manager) DestroyPod(ctx context.Context, uid types.UID) error {
	if m == nil {
		return nil
	}
	if err := checkUID(uid); err != nil {
		return err
	}
	defer m.forgetPod(uid)
	name, dirs := m.find(uid)
	if name == "" {
		return nil
	}
	return m.traced(ctx, trace.CgroupDestroy, name, func(e *trace.CgroupOp) error {
		if m.cfg.Driver != Systemd && m.removeIdle(dirs) {
			return nil
		}
		killed, err := m.killAll(ctx, uid)
		e.Killed = killed
		if err != nil {
			return err
		}
		if m.cfg.Driver == Systemd {
			if err := m.removeSlice(name); err != nil {
				return err
			}
		}
		return m.removeAll(ctx, m.dirsOf(uid))
	})
}

// DestroyRoot removes the whole tree below the configured root, and the root itself unless it is /. It is for separate
// roots with the cgroupfs driver, for example of tests: it kills nothing, and fails if a cgroup is in use.
func (m *Manager) DestroyRoot(ctx context.Context) error {
	if m == nil {
		return nil
	}
	top := m.spell(split(m.cfg.Root))
	if top == "/" {
		top = m.name("kubepods")
	}
	var dirs []string
	for _, h := range m.tree {
		dirs = append(dirs, filepath.Join(h.dir, top))
	}
	return m.removeAll(ctx, dirs)
}

// removeIdle removes a pod's cgroups without looking into them, which is all there is to do for most pods: their containers' cgroups are gone with
// the containers. It reports whether none is left. The kernel refuses to remove a cgroup that has a process or a cgroup in it.
func (m *Manager) removeIdle(dirs []string) bool {
	for _, dir := range dirs {
		if err := m.fs.remove(dir); err != nil && !gone(err) {
			return false
		}
	}
	return true
}

// find returns the name of the pod's first cgroup, which is empty if it has none, and all that may be there. Where this agent made them,
// it does not ask the kernel; systemd removes a slice that nobody needs.
func (m *Manager) find(uid types.UID) (name string, all []string) {
	if names := m.wrote(uid); len(names) > 0 && m.cfg.Driver != Systemd {
		for _, h := range m.tree {
			for _, name := range names {
				all = append(all, filepath.Join(h.dir, name))
			}
		}
		return names[0], all
	}
	for _, h := range m.tree {
		for _, tier := range tiers() {
			name := m.name(append(tier, podPrefix+string(uid))...)
			if _, err := os.Stat(filepath.Join(h.dir, name)); err == nil {
				return name, m.dirsOf(uid)
			}
		}
	}
	return "", nil
}

// killAll kills until no process is left, and returns how many there were.
func (m *Manager) killAll(ctx context.Context, uid types.UID) (int, error) {
	killed := map[int]bool{}
	for try := range destroyTries {
		pids, err := m.Pids(uid)
		if err != nil {
			return len(killed), err
		}
		if len(pids) == 0 {
			return len(killed), nil
		}
		if slices.Contains(pids, os.Getpid()) {
			return len(killed), errors.New("this process runs in the pod's cgroup and does not kill itself")
		}
		if err := m.kill(uid, pids); err != nil {
			return len(killed), err
		}
		for _, pid := range pids {
			killed[pid] = true
		}
		if err := pause(ctx, try); err != nil {
			return len(killed), err
		}
	}
	pids, err := m.Pids(uid)
	if err == nil && len(pids) > 0 {
		err = fmt.Errorf("processes %v do not die: they wait in the kernel, or their parent does not reap them", pids)
	}
	return len(killed), err
}

// kill sends SIGKILL: to the whole cgroup at once if the kernel can (cgroup v2 since Linux 5.14), which no fork
// escapes, otherwise to each process.
func (m *Manager) kill(uid types.UID, pids []int) error {
	if m.v2 {
		whole := false
		for _, dir := range m.dirsOf(uid) {
			whole = write(filepath.Join(dir, "cgroup.kill"), "1") == nil || whole
		}
		if whole {
			return nil
		}
	}
	for some := range slices.Chunk(pids, held) {
		if err := m.killHeld(uid, some); err != nil {
			return err
		}
	}
	return nil
}

// held is the number of processes that are held at once, with one file descriptor each.
const held = 64

// killHeld kills those processes that still belong to the pod. A PID may be another process's by now: killHeld first
// opens a pidfd (since Linux 5.3), then checks that it is in the pod's cgroup, so that it kills only processes found
// there.
func (m *Manager) killHeld(uid types.UID, pids []int) error {
	var all []*os.Process
	for _, pid := range pids {
		p, err := os.FindProcess(pid)
		if err != nil {
			return fmt.Errorf("hold process %d: %w", pid, err)
		}
		defer func() { _ = p.Release() }()
		all = append(all, p)
	}
	still, err := m.Pids(uid)
	if err != nil {
		return err
	}
	for i, p := range all {
		if _, ours := slices.BinarySearch(still, pids[i]); !ours {
			continue
		}
		if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill process %d: %w", pids[i], err)
		}
	}
	return nil
}

// removeAll removes trees of cgroups, deepest first. It retries busy ones: the kernel removes a process from its cgroup
// a little after its exit.
func (m *Manager) removeAll(ctx context.Context, tops []string) error {
	for try := 0; ; try++ {
		var busy error
		for _, top := range tops {
			all, err := below(top)
			if err != nil {
				return err
			}
			for _, dir := range slices.Backward(all) {
				if err := m.fs.remove(dir); err != nil && !gone(err) {
					busy = err
				}
			}
		}
		if busy == nil || try == destroyTries {
			return busy
		}
		if err := pause(ctx, try); err != nil {
			return errors.Join(busy, err)
		}
	}
}

func pause(ctx context.Context, try int) error {
	t := time.NewTimer(backoff.After(backoff.Doubling(time.Millisecond, longestPause), try))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
