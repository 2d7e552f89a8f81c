package flex

import (
	"context"
	"errors"
	"os"

	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// TearDown implements volume.Plugin. Its directory is removed only if it is empty.
//
// Upstream: pkg/volume/flexvolume/unmounter.go, TearDownAt.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	d, err := p.driver(ctx, at.Plugin)
	if _, none := errors.AsType[*NotInstalledError](err); none && p.empty(at.Dir) {
		return nil
	}
	if err != nil {
		p.waits(at.Plugin)
		return err
	}
	if !d.caps.Attach {
		return d.unmount(ctx, at)
	}
	give, err := p.take(ctx, at)
	if err != nil {
		return err
	}
	defer give()
	if err := d.unmount(ctx, at); err != nil {
		return err
	}
	return volume.Staged(d.unstage(ctx, at), func(ctx context.Context) error {
		return p.clean(ctx, volume.Place{Plugin: at.Plugin, Name: at.Name})
	})
}

// empty removes a directory that is empty and not mounted, and reports whether there is none now.
func (p *Plugin) empty(dir string) bool {
	err := os.Remove(dir)
	return err == nil || errors.Is(err, os.ErrNotExist)
}

func (d *driver) unmount(ctx context.Context, at volume.Place) error {
	if _, err := os.Lstat(at.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := d.call(ctx, at.Name, "unmount", at.Dir)
	if errors.Is(err, errUnsupported) {
		err = mount.CleanupMountPoint(at.Dir, d.p.cfg.Mounter, false)
	}
	if err != nil {
		return err
	}
	return d.remove("unmount", at.Dir)
}

// remove removes a directory after a call of the driver, which may have removed it.
func (d *driver) remove(call, dir string) error {
	err := os.Remove(dir)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return &CallError{d.name, call, &leftError{err}}
}

// leftError is a directory that a driver has left in use.
type leftError struct{ err error }

// Error implements error.
func (e *leftError) Error() string {
	return "it succeeded, but the directory is not free: " + e.err.Error()
}

// Unwrap returns the cause.
func (e *leftError) Unwrap() error { return e.err }
