package scsi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// TearDown implements volume.Plugin. After the last pod of the node, the disk is detached; if that fails, the pod has no volume any more. The
// pod's directory is removed last: until then the volume is known to exist. Directories are removed only if they are empty.
//
// Upstream: pkg/volume/iscsi/iscsi.go and pkg/volume/fc/fc.go, TearDownAt.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	dir, err := p.globalOf(at)
	if err != nil {
		return err
	}
	if dir != "" {
		give, err := p.take(ctx, dir, at.Name)
		if err != nil {
			return err
		}
		defer give()
		p.use(at.Dir, dir) // for another attempt, after the unmount
	}
	if _, err := p.unmount(at.Dir); err != nil {
		return err
	}
	var left error
	if dir != "" {
		left = p.left(dir, at.Name, p.unstage(ctx, dir, at.Dir, at.Name), false)
	}
	if err := p.removed(at.Dir); err != nil {
		return err
	}
	return left
}

// left is the error of a TearDown after which the disk is still there; nil if err is nil. Clean tries again, too, also after the agent's end.
// Again waits for another operation on the disk, which may fail.
func (p *Plugin) left(dir, of string, err error, block bool) error {
	return volume.Staged(err, func(ctx context.Context) error {
		give, err := p.take(ctx, dir, of)
		if err != nil {
			return err
		}
		defer give()
		return p.detachUnused(ctx, dir, block)
	})
}

// removed removes a pod's directory, if it is empty, and forgets which disk it had.
func (p *Plugin) removed(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.unuse(dir)
	return nil
}

// unstage unmounts the global directory and detaches the disk, unless a pod's volume other than that of podDir uses it. The directory's lock is
// held. The directory is removed last, so that an interrupted call is repeated.
//
// Upstream: pkg/volume/iscsi/attacher.go and pkg/volume/fc/attacher.go, UnmountDevice.
func (p *Plugin) unstage(ctx context.Context, dir, podDir, of string) error {
	if p.users(dir, podDir) {
		return nil
	}
	points, err := p.mounts()
	if err != nil || points.below(p.podsDir(), points.device(dir)) != "" {
		return err
	}
	if points.device(dir) == "" { // so that a file system that does not answer is not used
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return volume.Timed(ctx, volume.Unstaging, func() error {
		device, err := p.unmount(dir)
		if err != nil {
			return err
		}
		return p.detach(ctx, dir, device, of)
	})
}

// detach detaches the disk of a global directory where nothing is mounted, and removes the directory.
func (p *Plugin) detach(ctx context.Context, dir, device, of string) error {
	if err := p.kind.detach(ctx, dir, device, of); err != nil {
		return fmt.Errorf("detach the disk: %w", err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
