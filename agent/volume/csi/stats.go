package csi

import (
	"context"
	"errors"
	"path/filepath"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// ErrNoStats says that a driver does not report volume statistics.
var ErrNoStats = errors.New("the driver does not tell how full its volumes are")

// Stats are the statistics of a volume. A figure that the driver does not report is 0.
type Stats struct {
	Capacity, Used, Available      int64 // bytes
	Inodes, InodesUsed, InodesFree int64
}

// Stats gets the statistics of a pod's volume that is set up from its driver. It returns before ctx ends if the driver does not answer.
//
// Upstream: pkg/volume/csi/csi_metrics.go, GetMetrics; csi_client.go, NodeGetVolumeStats.
func (p *Plugin) Stats(ctx context.Context, s volume.Spec) (Stats, error) {
	v, err := volOf(s)
	if err != nil {
		return Stats{}, err
	}
	d, err := p.driver(v.driver)
	if err != nil {
		return Stats{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if can, err := d.can(ctx, canStats); err != nil {
		return Stats{}, err
	} else if !can {
		return Stats{}, ErrNoStats
	}
	path := filepath.Join(s.Dir, target)
	if s.Block {
		path = filepath.Join(p.blockGlobal(v.name), string(s.PodUID))
	}
	resp, err := d.node.NodeGetVolumeStats(ctx, &csipb.NodeGetVolumeStatsRequest{VolumeId: v.handle, VolumePath: path})
	if err == nil && len(resp.GetUsage()) == 0 {
		err = errors.New("failed to get usage from response. usage is nil")
	}
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
