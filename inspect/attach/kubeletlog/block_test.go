package kubeletlog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBlock reads the set-up and the teardown of a raw block volume: the last of the two lines that it is mapped ends the set-up.
func TestBlock(t *testing.T) {
	const (
		of  = ` for volume \"pvc-1\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") `
		pod = `" pod="shop/web"`
	)
	recs, _, read := all(t, lines(
		`00:01.0 I "operationExecutor.MountVolume started`+of+pod,
		`00:02.0 I "MapVolume.MapPodDevice succeeded`+of+`globalMapPath \"/g/volumeMapPath x\"`+pod,
		`00:03.0 I "MapVolume.MapPodDevice succeeded`+of+`volumeMapPath \"/v\"`+pod,
		`00:30.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`,
		`00:31.0 I "operationExecutor.UnmountVolume started for volume \"kubernetes.io/csi/d^v\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"11111111-2222-3333-4444-555555555555\" (UID: \"11111111-2222-3333-4444-555555555555\") "`,
		`00:32.0 I UnmapVolume succeeded for volume "kubernetes.io/csi/d^v" pod "11111111-2222-3333-4444-555555555555" (UID: "11111111-2222-3333-4444-555555555555"). InnerVolumeSpecName "data". PluginName "kubernetes.io/csi", VolumeGIDValue ""`,
	))
	want := []string{
		"00:01.000 begin web volume: setup pvc-1 kubernetes.io/csi", "00:03.000 end web volume: setup pvc-1 kubernetes.io/csi 2s", "00:30.000 web pod.milestone: terminating",
		"00:31.000 begin web volume: teardown kubernetes.io/csi/d^v kubernetes.io/csi", "00:32.000 end web volume: teardown data kubernetes.io/csi 1s",
	}
	if diff := cmp.Diff(want, told(recs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if read.Level != 2 {
		t.Errorf("level %d", read.Level)
	}
}
