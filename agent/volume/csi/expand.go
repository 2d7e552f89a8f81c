package csi

import (
	"context"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Expand implements volume.Expander.
//
// Upstream: pkg/volume/csi/expander.go, NodeExpand.
func (p *Plugin) Expand(ctx context.Context, s volume.Spec, size resource.Quantity) (done bool, err error) {
	v, err := volOf(s)
	if err != nil || v.ephemeral {
		return false, err
	}
	d, err := p.driver(v.driver)
	if err != nil {
		return false, err
	}
	give, err := p.take(ctx, v.id())
	if err != nil {
		return false, err
	}
	defer give()
	err = within(withMigrated(ctx, s), func(ctx context.Context) error {
		done, err = p.expand(ctx, d, v, s, size)
		return err
	})
	return done, err
}

// expand calls the driver. The volume's lock is held.
func (p *Plugin) expand(ctx context.Context, d *driver, v vol, s volume.Spec, size resource.Quantity) (bool, error) {
	if can, err := d.can(ctx, canExpand); err != nil || !can {
		return false, err
	}
	secrets, err := p.secret(ctx, s.PodUID, "NodeExpandSecretRef", v.expandSecret)
	if err != nil {
		return false, err
	}
	access, err := d.access(ctx, v, s.Block, nil)
	if err != nil {
		return false, err
	}
	req := &csipb.NodeExpandVolumeRequest{
		VolumeId: v.handle, VolumePath: filepath.Join(s.Dir, target), CapacityRange: &csipb.CapacityRange{RequiredBytes: size.Value()},
		VolumeCapability: access, Secrets: secrets,
	}
	staging := p.staging(v.driver, v.handle)
	if s.Block {
		req.VolumePath, staging = filepath.Join(p.blockPublish(v.name), string(s.PodUID)), p.blockStaging(v.name)
	}
	if can, err := d.can(ctx, canStage); err != nil {
		return false, err
	} else if can {
		req.StagingTargetPath = staging
	}
	_, err = d.node.NodeExpandVolume(ctx, req)
	return err == nil, err
}
