package agent

import (
	"context"

	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/stats"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/csi"
)

// measuredVolumes returns the volumes of a pod whose usage is measured. CSI drivers have the figures of theirs.
func (p *parts) measuredVolumes(pod *v1.Pod) map[string]stats.Volume {
	out := map[string]stats.Volume{}
	for name, v := range p.volumes.Mounted(pod.UID) {
		one := stats.Volume{Path: v.Path, Block: v.Spec.Block}
		if v.Plugin == csi.Name {
			one.Driver, one.Ask = driverOf(v.Spec), p.askDriver(v.Spec)
		}
		out[name] = one
	}
	return out
}

// driverOf returns the name of the driver of a CSI volume.
func driverOf(s volume.Spec) string {
	if s.PV != nil && s.PV.Spec.CSI != nil {
		return s.PV.Spec.CSI.Driver
	}
	if s.Volume != nil && s.Volume.CSI != nil {
		return s.Volume.CSI.Driver
	}
	return ""
}

// askDriver returns a function that gets the figures of a volume from its CSI driver. The record of the call has its error.
func (p *parts) askDriver(s volume.Spec) func(context.Context) (statsapi.FsStats, bool) {
	return func(ctx context.Context) (statsapi.FsStats, bool) {
		f, err := p.cluster.drivers.Stats(ctx, s)
		return statsapi.FsStats{
			CapacityBytes: count(f.Capacity), UsedBytes: count(f.Used), AvailableBytes: count(f.Available),
			Inodes: count(f.Inodes), InodesUsed: count(f.InodesUsed), InodesFree: count(f.InodesFree),
		}, err == nil
	}
}

// count returns a driver's figure, which is not negative by the specification.
func count(n int64) *uint64 { return new(uint64(max(n, 0))) }
