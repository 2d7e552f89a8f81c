package csi

import (
	"context"
	"fmt"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// expand calls the driver. The volume's lock is held. Errors have upstream's text, because they are in the claim's status.
func (p *Plugin) expand(ctx context.Context, d *driver, v vol, s volume.Spec, size resource.Quantity) (bool, error) {
	switch can, err := d.can(ctx, canExpand); {
	case err != nil:
		return false, fmt.Errorf("Expander.NodeExpand failed to check if node supports expansion : %w", err)
	case !can:
		return false, &volume.NotExpandableError{Driver: d.name}
	}
	secrets, err := p.secret(ctx, s.PodUID, "NodeExpandSecretRef", v.expandSecret)
	if err != nil {
		return false, fmt.Errorf("expander.NodeExpand failed to get NodeExpandSecretRef %s: %w", nameOf(v.expandSecret), err)
	}
	access, err := d.access(ctx, v, s.Block, nil)
	if err != nil {
		return false, err
	}
	req := &csipb.NodeExpandVolumeRequest{
		VolumeId: v.handle, VolumePath: filepath.Join(s.Dir, target), CapacityRange: &csipb.CapacityRange{RequiredBytes: size.Value()},
		VolumeCapability: access, Secrets: secrets,
	}
	req.StagingTargetPath = p.staging(v.driver, v.handle) // as upstream, a driver that does not stage gets it, too
	if s.Block {
		req.VolumePath, req.StagingTargetPath = filepath.Join(p.blockPublish(v.name), string(s.PodUID)), p.blockStaging(v.name)
	}
	_, err = d.node.NodeExpandVolume(ctx, req)
	switch status.Code(err) {
	case codes.OK:
		return true, nil
	case codes.InvalidArgument, codes.OutOfRange, codes.NotFound: // upstream's text has no colon then
		return false, fmt.Errorf("Expander.NodeExpand failed to expand the volume %w", err)
	}
	return false, fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
}
