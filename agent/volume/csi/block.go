package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/blockdev"
)

// The directories of a block volume.
//
// Upstream: pkg/volume/csi/csi_block.go.
func (p *Plugin) blockDir() string { return filepath.Join(p.dir(), "volumeDevices") }

func (p *Plugin) blockData(name string) string   { return filepath.Join(p.blockDir(), name, "data") }
func (p *Plugin) blockGlobal(name string) string { return filepath.Join(p.blockDir(), name, "dev") }
func (p *Plugin) blockStaging(name string) string {
	return filepath.Join(p.blockDir(), "staging", name)
}

func (p *Plugin) blockPublish(name string) string {
	return filepath.Join(p.blockDir(), "publish", name)
}

// MapDir implements volume.BlockPlugin.
func (p *Plugin) MapDir(s volume.Spec) string { return p.blockGlobal(s.Name) }

// SetUpBlock implements volume.BlockPlugin.
//
// Upstream: pkg/volume/csi/csi_block.go, SetUpDevice, MapPodDevice.
func (p *Plugin) SetUpBlock(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	ctx = withMigrated(ctx, s)
	w, err := p.begin(ctx, s)
	if err != nil {
		return criconfig.Volume{}, err
	}
	give, err := p.take(ctx, w.v.id())
	if err != nil {
		return criconfig.Volume{}, err
	}
	defer give()
	note := w.note()
	note.Mode = ""
	if err := saveData(p.blockData(w.v.name), note); err != nil {
		return criconfig.Volume{}, err
	}
	if err := within(ctx, w.stageBlock); err != nil {
		return criconfig.Volume{}, stage(mountDevice(s), false, err)
	}
	path := filepath.Join(p.blockPublish(w.v.name), string(s.PodUID))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return criconfig.Volume{}, err
	}
	if err := within(ctx, func(ctx context.Context) error { return w.publish(ctx, path) }); err != nil {
		return criconfig.Volume{}, err
	}
	device, err := filepath.EvalSymlinks(path)
	if err != nil {
		return criconfig.Volume{}, err
	}
	if err := blockdev.Map(p.cfg.Mounter, device, p.blockGlobal(w.v.name), string(s.PodUID), s.Dir); err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{HostPath: s.Dir, ReadOnly: w.v.readOnly}, nil
}

func (w *work) stageBlock(ctx context.Context) error {
	w.staged = w.p.blockStaging(w.v.name) // as upstream, a driver that does not stage gets it, too
	if can, err := w.d.can(ctx, canStage); err != nil || !can {
		return err
	}
	if w.p.isStaged(w.v.id(), w.staged) {
		return nil
	}
	secrets, err := w.p.secret(ctx, w.spec.PodUID, "NodeStageSecretRef", w.v.stageSecret)
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: failed to get NodeStageSecretRef %s: %w", nameOf(w.v.stageSecret), err)
	}
	access, err := w.d.access(ctx, w.v, true, nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.staged, 0o750); err != nil {
		return err
	}
	_, err = w.d.node.NodeStageVolume(ctx, &csipb.NodeStageVolumeRequest{
		VolumeId: w.v.handle, PublishContext: w.attached, StagingTargetPath: w.staged, VolumeCapability: access,
		Secrets: secrets, VolumeContext: w.v.attributes,
	})
	if err == nil {
		w.p.setStaged(w.v.id(), w.staged)
	}
	return err
}

// TearDownBlock implements volume.BlockPlugin.
//
// Upstream: pkg/volume/csi/csi_block.go, UnmapPodDevice, TearDownDevice.
func (p *Plugin) TearDownBlock(ctx context.Context, at volume.Place) error {
	uid := string(at.PodUID)
	data, err := loadData(p.blockData(at.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return blockdev.Unmap(p.cfg.Mounter, p.blockGlobal(at.Name), uid, at.Dir)
	}
	if err != nil {
		return err
	}
	d, give, err := p.hold(ctx, data)
	if err != nil {
		return err
	}
	defer give()
	path := filepath.Join(p.blockPublish(at.Name), uid)
	if err := blockdev.Unbind(p.cfg.Mounter, p.blockGlobal(at.Name), uid); err != nil {
		return err
	}
	if err := d.unpublish(ctx, data, path); err != nil {
		return err
	}
	err = within(ctx, func(ctx context.Context) error { return p.unstageBlock(ctx, d, data, at.Name) })
	left := p.leave(data, err, func(ctx context.Context, d *driver) error { return p.unstageBlock(ctx, d, data, at.Name) })
	// The link is removed last: until then the volume is known to exist.
	if err := blockdev.Unmap(p.cfg.Mounter, p.blockGlobal(at.Name), uid, at.Dir); err != nil {
		return err
	}
	return left
}

// unstageBlock calls the driver to undo stageBlock, if no pod uses the device any more. What the driver leaves in the staging directory is
// removed.
func (p *Plugin) unstageBlock(ctx context.Context, d *driver, data volData, name string) error {
	for _, dir := range []string{p.blockGlobal(name), p.blockPublish(name)} {
		if others, err := blockdev.Others(dir, ""); err != nil || others {
			return err
		}
	}
	return volume.Timed(ctx, volume.Unstaging, func() error { return p.unstageUnused(ctx, d, data, name) })
}

func (p *Plugin) unstageUnused(ctx context.Context, d *driver, data volData, name string) error {
	staging := p.blockStaging(name)
	if _, err := os.Stat(staging); err == nil {
		p.setUnstaged(data.id())
		if can, err := d.can(ctx, canStage); err != nil {
			return err
		} else if can {
			if _, err := d.node.NodeUnstageVolume(ctx, &csipb.NodeUnstageVolumeRequest{VolumeId: data.Handle, StagingTargetPath: staging}); err != nil {
				return err
			}
		}
	}
	if err := removeTree(ctx, staging); err != nil {
		return err
	}
	for _, path := range []string{p.blockPublish(name), p.blockGlobal(name)} {
		if err := removeTarget(path); err != nil {
			return err
		}
	}
	if err := removeNote(p.blockData(name)); err != nil {
		return err
	}
	return removeTree(ctx, filepath.Join(p.blockDir(), name))
}
