package csi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// ErrNoStats says that a driver does not report volume statistics.
var ErrNoStats = errors.New("the driver does not tell how full its volumes are")

// Stats are the statistics of a volume. A figure that the driver does not report is 0.
type Stats struct {
	Capacity, Used, Available      int64 // bytes
	Inodes, InodesUsed, InodesFree int64
}

// Stats gets the statistics of a pod's volume from the driver, by the volume's name on the node.
//
// Upstream: pkg/volume/csi/csi_client.go, NodeGetVolumeStats.
func (p *Plugin) Stats(ctx context.Context, uid types.UID, name string) (Stats, error) {
	dir := volume.Dir(p.cfg.RootDir, uid, Name, name)
	data, err := loadData(dir)
	if err != nil {
		return Stats{}, fmt.Errorf("volume %s of pod %s: %w", name, uid, err)
	}
	d, err := p.driver(data.Driver)
	if err != nil {
		return Stats{}, err
	}
	if can, err := d.can(ctx, canStats); err != nil {
		return Stats{}, err
	} else if !can {
		return Stats{}, ErrNoStats
	}
	resp, err := d.node.NodeGetVolumeStats(ctx, &csipb.NodeGetVolumeStatsRequest{VolumeId: data.Handle, VolumePath: filepath.Join(dir, target)})
	if err != nil {
		return Stats{}, err
	}
	var out Stats
	for _, u := range resp.GetUsage() {
		if u.GetUnit() == csipb.VolumeUsage_BYTES {
			out.Capacity, out.Used, out.Available = u.GetTotal(), u.GetUsed(), u.GetAvailable()
		}
		if u.GetUnit() == csipb.VolumeUsage_INODES {
			out.Inodes, out.InodesUsed, out.InodesFree = u.GetTotal(), u.GetUsed(), u.GetAvailable()
		}
	}
	return out, nil
}
