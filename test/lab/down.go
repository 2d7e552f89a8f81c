package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
)

// Down stops and removes all pods, containerd and the registry, and then
// everything the lab made on this machine, its directory included. A lab that
// is gone is no error. Only processes that the lab started are ended.
func (l *Lab) Down(ctx context.Context) error { return Down(ctx, l.Dir) }

// Down is (*Lab).Down for the lab in dir, if there is one.
func Down(ctx context.Context, dir string) error {
	dir, err := resolve(dir)
	if err != nil {
		return err
	}
	unlock, err := lockDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	s, err := loadState(dir)
	if err != nil {
		return err
	}
	if s == nil {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%w in %s, but other files: not removing it", ErrNoLab, dir)
		}
		return os.Remove(dir)
	}
	return newLab(dir, s).tearDown(ctx)
}

// tearDown continues after an error, so that as little as possible is left. The
// directory stays if something else did, so that Down can be tried again.
func (l *Lab) tearDown(ctx context.Context) error {
	s := l.state
	agents := l.stopAgents(ctx)
	if s.Containerd.alive() {
		// What this leaves, the steps below remove by force.
		_ = l.RemovePods(ctx)
	}
	errs := []error{
		agents,
		l.stopCluster(ctx),
		l.stopCRIO(ctx, s.CRIO),
		s.Containerd.stop(ctx, time.Second),
		s.Registry.stop(ctx, time.Second),
		l.killShims(ctx),
	}
	trees, err := hierarchies()
	errs = append(errs,
		err,
		removeCgroup(ctx, trees, l.CgroupRoot),
		UnmountBelow(l.Dir),
		cleanNetwork(ctx, s),
	)
	if s.SocketDir == socketDir(l.Dir, s.ID) {
		errs = append(errs, os.RemoveAll(s.SocketDir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take down the lab in %s: %w", l.Dir, err)
	}
	return os.RemoveAll(l.Dir)
}

// killShims kills the shims that containerd left, and the containers below them.
func (l *Lab) killShims(ctx context.Context) error {
	socket := filepath.Join(l.Dir, containerdSocket)
	return killTree(ctx, func(cmdline []string) bool {
		i := slices.Index(cmdline, "-address")
		return i >= 0 && i+1 < len(cmdline) && cmdline[i+1] == socket &&
			filepath.Base(cmdline[0]) == "containerd-shim-runc-v2"
	})
}

// UnmountBelow detaches everything mounted at and below a directory: root file
// systems, shared memory, network namespaces, which end by that, and the root
// directory of an agent.
func UnmountBelow(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range slices.Backward(mounts) {
		if err := unmount(m.Mountpoint); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}

// cleanNetwork removes bridge, rules and cache. The machine's lock keeps the
// question whether this is the last lab meaningful.
func cleanNetwork(ctx context.Context, s *state) error {
	unlock, err := lockFile(machineLock)
	if err != nil {
		return err
	}
	defer unlock()
	err = deleteBridge(bridgeName(s.ID))
	// Not of /sys, which may show the devices of another network namespace.
	devices, listErr := net.Interfaces()
	last := listErr == nil && !slices.ContainsFunc(devices, func(i net.Interface) bool { return strings.HasPrefix(i.Name, bridgeName("")) })
	return errors.Join(err, cleanPortmap(ctx, s.ID, last && !s.PortmapChains), removeCNICache(s.ID))
}
