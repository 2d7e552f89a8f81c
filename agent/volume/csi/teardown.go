package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// TearDown implements volume.Plugin. The data file is removed last: until then the volume is known to exist. A volume that cannot be unstaged
// does not keep the pod: the error is a [volume.StagedError].
//
// Upstream: pkg/volume/csi/csi_mounter.go, TearDownAt.
func (p *Plugin) TearDown(ctx context.Context, at volume.Place) error {
	path := filepath.Join(at.Dir, target)
	data, err := loadData(at.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		// The driver was never called, or only directories are left.
		if err := removeTarget(path); err != nil {
			return fmt.Errorf("nothing says which driver's volume this is: %w", err)
		}
		return removeNote(at.Dir)
	}
	if _, spoilt := errors.AsType[errSpoilt](err); spoilt {
		return p.tearDownSpoilt(at.Dir, err)
	}
	if err != nil {
		return err
	}
	d, give, err := p.hold(ctx, data)
	if err != nil {
		return err
	}
	defer give()
	if err := d.unpublish(ctx, data, path); err != nil {
		return err
	}
	var left error
	if data.Mode != ephemeralMode {
		err := within(ctx, func(ctx context.Context) error { return p.unstage(ctx, d, data, at.Dir) })
		left = p.leave(data, err, func(ctx context.Context, d *driver) error { return p.unstage(ctx, d, data, "") })
	}
	if err := removeNote(at.Dir); err != nil {
		return err
	}
	return left
}

// leave returns the error of a TearDown that could not unstage a volume; nil if err is nil. unstage is for later attempts, when any pod that
// has the volume counts, and is called with the volume's lock.
func (p *Plugin) leave(data volData, err error, unstage func(ctx context.Context, d *driver) error) error {
	if err != nil {
		err = fmt.Errorf("unstage volume %s: %w", data.Handle, err)
	}
	return volume.Staged(err, func(ctx context.Context) error {
		d, give, err := p.hold(ctx, data)
		if err != nil {
			return err
		}
		defer give()
		return within(ctx, func(ctx context.Context) error { return unstage(ctx, d) })
	})
}

// hold returns the driver of a volume, and locks the volume until give is called.
func (p *Plugin) hold(ctx context.Context, data volData) (d *driver, give func(), err error) {
	if d, err = p.driver(data.Driver); err != nil {
		return nil, nil, err
	}
	give, err = p.take(ctx, data.id())
	return d, give, err
}

// unpublish calls the driver to unmount a pod's volume, and removes the path.
func (d *driver) unpublish(ctx context.Context, data volData, path string) error {
	err := within(ctx, func(ctx context.Context) error {
		_, err := d.node.NodeUnpublishVolume(ctx, &csipb.NodeUnpublishVolumeRequest{VolumeId: data.Handle, TargetPath: path})
		return err
	})
	if err != nil {
		return err
	}
	return removeTarget(path)
}

// tearDownSpoilt removes a volume whose data file is corrupt. If nothing is mounted, it is removed, and Clean handles
// what is staged for it. Otherwise only the driver could unmount it, so the volume is kept until an administrator fixes
// the data file.
func (p *Plugin) tearDownSpoilt(dir string, spoilt error) error {
	if err := removeTarget(filepath.Join(dir, target)); err != nil {
		return errors.Join(spoilt, err)
	}
	p.mu.Lock()
	p.leftovers = true
	p.mu.Unlock()
	return removeNote(dir)
}

// Clean implements volume.Cleaner: it unstages volumes that no pod uses, for example after a crash between the two steps of a
// TearDown. A further call does nothing: TearDown unstages the volumes that this agent staged.
func (p *Plugin) Clean(ctx context.Context) error {
	p.mu.Lock()
	look := p.leftovers
	p.leftovers = false
	p.mu.Unlock()
	if !look {
		return nil
	}
	err := p.cleanAll(ctx)
	if err != nil {
		p.mu.Lock()
		p.leftovers = true
		p.mu.Unlock()
	}
	return err
}

func (p *Plugin) cleanAll(ctx context.Context) error {
	paths, err := filepath.Glob(filepath.Join(escape(p.dir()), "*", "*", dataFile))
	blocks, err2 := filepath.Glob(filepath.Join(escape(p.blockDir()), "*", filepath.Base(p.blockData("")), dataFile))
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	var errs []error
	for i, path := range append(paths, blocks...) {
		data, err := loadData(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d, err := p.driver(data.Driver)
		if err != nil {
			continue // when the driver returns, a later call handles this
		}
		unstage := func(ctx context.Context) error { return p.unstage(ctx, d, data, "") }
		if i >= len(paths) {
			unstage = func(ctx context.Context) error {
				return p.unstageBlock(ctx, d, data, filepath.Base(filepath.Dir(filepath.Dir(path))))
			}
		}
		if err := p.cleanOne(ctx, data, unstage); err != nil {
			errs = append(errs, fmt.Errorf("unstage volume %s of %s: %w", data.Handle, data.Driver, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Plugin) cleanOne(ctx context.Context, data volData, unstage func(ctx context.Context) error) error {
	give, busy := p.locks.Try(data.id())
	if busy != nil {
		return nil // another operation handles it
	}
	defer give()
	return within(ctx, unstage)
}
