package csi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
)

// stage calls the driver to stage the volume on the node, once for all pods.
//
// Upstream: pkg/volume/csi/csi_attacher.go, MountDevice.
func (w *work) stage(ctx context.Context) error {
	if can, err := w.d.can(ctx, canStage); err != nil || !can {
		return err
	}
	path := w.p.staging(w.v.driver, w.v.handle)
	w.staged = path
	if w.p.isStaged(w.v.id(), path) {
		return nil
	}
	if err := w.unstageOther(ctx, path); err != nil {
		return err
	}
	secrets, err := w.p.secret(ctx, w.spec.PodUID, "NodeStageSecretRef", w.v.stageSecret)
	if err != nil {
		return fmt.Errorf("fetching NodeStageSecretRef %s failed: %w", nameOf(w.v.stageSecret), err)
	}
	access, err := w.d.access(ctx, w.v, false, w.delegated(ctx))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return err
	}
	if err := saveData(filepath.Dir(path), volData{Handle: w.v.handle, Driver: w.v.driver, Label: w.spec.SELinuxLabel}); err != nil {
		return err
	}
	_, err = w.d.node.NodeStageVolume(ctx, &csipb.NodeStageVolumeRequest{
		VolumeId: w.v.handle, PublishContext: w.attached, StagingTargetPath: path, VolumeCapability: access,
		Secrets: secrets, VolumeContext: w.v.attributes,
	})
	if err != nil {
		if others, _ := w.p.users(w.v.id(), w.spec.Dir); final(err) && !w.spec.Adopt && len(others) == 0 {
			_ = w.p.removeStaging(path)
		}
		return err
	}
	w.p.setStaged(w.v.id(), path)
	return nil
}

// unstage calls the driver to undo stage, if the volume is no longer in use.
//
// Upstream: pkg/volume/csi/csi_attacher.go, UnmountDevice.
func (p *Plugin) unstage(ctx context.Context, d *driver, data volData, but string) error {
	path := p.staging(data.Driver, data.Handle)
	if _, err := loadData(filepath.Dir(path)); os.IsNotExist(err) {
		return nil
	}
	if users, err := p.users(data.id(), but); err != nil || len(users) > 0 {
		return err
	}
	return volume.Timed(ctx, volume.Unstaging, func() error {
		can, err := d.can(ctx, canStage)
		if err != nil {
			return err
		}
		if can {
			p.setUnstaged(data.id())
			req := &csipb.NodeUnstageVolumeRequest{VolumeId: data.Handle, StagingTargetPath: path}
			if _, err := d.node.NodeUnstageVolume(ctx, req); err != nil {
				return err
			}
		}
		return p.removeStaging(path)
	})
}

func (p *Plugin) removeStaging(path string) error {
	if err := removeTarget(path); err != nil {
		return err
	}
	return removeNote(filepath.Dir(path))
}

// delegated returns the pod's group if the driver sets it itself.
func (w *work) delegated(ctx context.Context) *int64 {
	if can, err := w.d.can(ctx, canGroup); err != nil || !can {
		return nil
	}
	return fsgroup.Of(w.spec.Pod)
}

// isStaged reports whether the volume is still staged at path.
func (p *Plugin) isStaged(id, path string) bool {
	p.mu.Lock()
	was, ok := p.staged[id]
	p.mu.Unlock()
	return ok && was.Lost(volume.See(path)) == ""
}

// setStaged records that a volume is staged at path.
func (p *Plugin) setStaged(id, path string) {
	seen := volume.See(path)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.staged[id] = seen
}

func (p *Plugin) setUnstaged(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.staged, id)
}
