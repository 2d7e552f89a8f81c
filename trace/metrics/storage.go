package metrics

import (
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// storageOps counts an operation on a volume, and the parts of it that upstream does as operations of their own. If such a part fails, the rest
// of the operation succeeded or was not tried.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go; pkg/volume/util/metrics.go, FSGroupCompleteHook.
func (s *Sink) storageOps(e *trace.Volume, took time.Duration) {
	count := func(op string, took time.Duration, failed, migrated bool) {
		status := "success"
		if failed {
			status = "fail-unknown"
		}
		s.storage.WithLabelValues(s.pluginOf(e), op, status, strconv.FormatBool(migrated)).Observe(took.Seconds())
	}
	if e.Owning.Took > 0 {
		count("volume_apply_access_control", e.Owning.Took, e.Owning.Failed, false)
	}
	if e.Unstaging.Took > 0 {
		op := "unmount_device"
		if e.Block {
			op = "unmap_device"
		}
		count(op, e.Unstaging.Took, e.Unstaging.Failed, e.Migrated)
	}
	if e.Op == trace.VolumeSetup && (e.Err == "" || e.Attaching.Failed) { // of volumes that nobody attaches, too
		count("verify_controller_attached_volume", e.Attaching.Took, e.Attaching.Failed, e.Migrated)
	}
	op, ok := storageOp(e)
	if !ok || e.Attaching.Failed {
		return
	}
	unmounted := e.Op == trace.VolumeTeardown && e.Unstaging.Failed
	count(op, max(took-e.Attaching.Took-e.Unstaging.Took, 0), e.Err != "" && !unmounted, e.Migrated)
}

// storageOp returns upstream's name for an operation on a volume.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
func storageOp(e *trace.Volume) (string, bool) {
	switch {
	case e.Op == trace.VolumeSetup && e.Block:
		return "map_volume", true
	case e.Op == trace.VolumeSetup:
		return "volume_mount", true
	case e.Op == trace.VolumeTeardown && e.Block:
		return "unmap_volume", true
	case e.Op == trace.VolumeTeardown:
		return "volume_unmount", true
	case e.Op == trace.VolumeGrow:
		return "volume_fs_resize", true
	}
	return "", false
}
