package scsi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubeloupe/kubeloupe/agent/volume/blockdev"
)

// Clean implements volume.Cleaner: it detaches the disks that no pod uses, such as those that an earlier agent left when it ended between a
// pod's unmount and that of the disk, or during a login. A directory on which another operation works is skipped.
func (p *Plugin) Clean(ctx context.Context) error {
	var errs []error
	for _, block := range []bool{false, true} {
		all, err := p.globals(block)
		errs = append(errs, err)
		for _, dir := range all {
			if ctx.Err() != nil {
				break
			}
			if err := p.clean(ctx, dir, block); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", dir, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (p *Plugin) clean(ctx context.Context, dir string, block bool) error {
	give, busy := p.locks.Try(dir)
	if busy != nil {
		return nil
	}
	defer give()
	return p.detachUnused(ctx, dir, block)
}

// detachUnused detaches the disk of a global directory, unless a pod uses it. The directory's lock is held.
func (p *Plugin) detachUnused(ctx context.Context, dir string, block bool) error {
	if p.users(dir, "") {
		return nil
	}
	if !block {
		return p.unstage(ctx, dir, "", filepath.Base(dir))
	}
	if err := p.unbindLeft(dir); err != nil {
		return err
	}
	return p.unmap(ctx, dir, "", filepath.Base(dir))
}

// unbindLeft removes the entries of pods that have no directory on the node.
func (p *Plugin) unbindLeft(dir string) error {
	all, err := names(dir)
	if err != nil {
		return err
	}
	for _, uid := range all {
		if isRecord(uid) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(p.podsDir(), uid)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := blockdev.Unbind(p.cfg.Mounter, dir, uid); err != nil {
			return err
		}
	}
	return nil
}
