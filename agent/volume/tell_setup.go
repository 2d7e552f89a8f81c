package volume

import (
	"context"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
)

// tellSetUp emits the events of a volume that was set up: of a device, where it is, and of a read-only volume, that it is not expanded.
func (m *Manager) tellSetUp(ctx context.Context, j job) {
	if m.cfg.Events == nil || j.quiet {
		return
	}
	if b, ok := j.want.plugin.(BlockPlugin); ok && j.key.block && !j.adopt {
		m.tellMapped(ctx, j.want.spec, b.MapDir(j.want.spec))
	}
	if _, ok := j.want.plugin.(Expander); ok {
		m.tellReadOnly(ctx, j.want.spec)
	}
}

// tellMapped emits the events of a block volume.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, GenerateMapVolumeFunc.
func (m *Manager) tellMapped(ctx context.Context, s Spec, dir string) {
	for _, at := range []string{fmt.Sprintf("globalMapPath %q", dir), fmt.Sprintf("volumeMapPath %q", filepath.Dir(s.Dir))} {
		m.cfg.Events.Pod(ctx, s.Pod, "", v1.EventTypeNormal, "SuccessfulMountVolume",
			fmt.Sprintf("MapVolume.MapPodDevice succeeded for volume %q %s", s.Volume.Name, at))
	}
}

// tellReadOnly emits the events of a persistent volume that is larger than its claim and should be expanded, but is read-only here.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, expandVolumeDuringMount.
func (m *Manager) tellReadOnly(ctx context.Context, s Spec) {
	if s.PVC == nil || !s.ReadOnly {
		return
	}
	if has := s.PVC.Status.Capacity[v1.ResourceStorage]; has.Cmp(s.PV.Spec.Capacity[v1.ResourceStorage]) >= 0 {
		return
	}
	const reason = "FileSystemResizeFailed"
	message := fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", s.PV.Name)
	m.cfg.Events.Pod(ctx, s.Pod, "", v1.EventTypeWarning, reason, message)
	m.cfg.Events.About(ctx, s.Pod, events.ClaimRef(s.PVC), v1.EventTypeWarning, reason, message)
}
