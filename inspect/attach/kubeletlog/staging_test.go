package kubeletlog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStaging reads what is written at V0 of volumes that are attached, and what more is written at V1 and V2.
func TestStaging(t *testing.T) {
	const (
		csi = "pvc-1 kubernetes.io/csi"
		of  = ` for volume \"pvc-1\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") `
		pod = `" pod="shop/web"`
	)
	failed := `E Operation for "{volumeName:kubernetes.io/csi/d^v podName: nodeName:}" failed. No retries permitted until 2026-11-22 08:00:11.5 +0000 UTC m=+1.5 (durationBeforeRetry 500ms). Error: "MountVolume.WaitForAttach failed` + of + `: timed out"`
	observed := `I "Observed pod startup duration" pod="shop/web" podStartSLOduration=12 podStartE2EDuration="12s"`
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"V0": {
			lines(
				`00:01.0 I "operationExecutor.VerifyControllerAttachedVolume started`+of+pod,
				`00:02.0 I "MountVolume.WaitForAttach entering`+of+`DevicePath \"\"`+pod,
				`00:05.0 I "MountVolume.WaitForAttach succeeded`+of+`DevicePath \"csi-1\"`+pod,
				`00:09.0 I "MountVolume.MountDevice succeeded`+of+`device mount path \"/x\"`+pod,
				`00:12.0 `+observed,
			),
			[]string{
				"00:02.000 begin web volume: setup " + csi, "00:02.000 begin web pod.wait: attach volume pvc-1",
				"00:05.000 end web pod.wait: attach volume pvc-1 3s", "00:09.000 end web volume: setup " + csi + " 7s",
				"00:09.000 end web pod.action: volumes 8s", "00:12.000 web pod.milestone: started", "00:12.000 web pod.milestone: ready",
			},
		},
		"V0, staged before": {
			lines(
				`00:02.0 I "MapVolume.WaitForAttach entering`+of+`DevicePath \"\"`+pod,
				`00:05.0 I "MapVolume.WaitForAttach succeeded`+of+`DevicePath \"csi-1\"`+pod,
				`00:12.0 `+observed,
			),
			[]string{
				"00:02.000 begin web volume: setup " + csi, "00:02.000 begin web pod.wait: attach volume pvc-1",
				"00:05.000 end web pod.wait: attach volume pvc-1 3s", "00:05.000 end web volume: setup " + csi + " 3s",
				"00:12.000 web pod.milestone: started", "00:12.000 web pod.milestone: ready",
			},
		},
		"V0, lines are missing": {
			lines(
				`00:02.0 I "MountVolume.WaitForAttach entering`+of+`DevicePath \"\"`+pod,
				`00:12.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with CreateContainerError: \"no\"" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555"`,
			),
			[]string{
				"00:02.000 begin web volume: setup " + csi, "00:02.000 begin web pod.wait: attach volume pvc-1",
				"00:02.000 end web volume: setup " + csi + " 0s", "00:12.000 end web pod.wait: attach volume pvc-1 10s",
				"00:12.000 end web pod.action: create main no 0s", "00:12.000 begin web pod.wait: backoff container main CreateContainerError",
			},
		},
		"it fails": {
			lines(`00:02.0 I "MountVolume.WaitForAttach entering`+of+`DevicePath \"\"`+pod, `00:11.0 `+failed),
			[]string{
				"00:02.000 begin web volume: setup " + csi, "00:02.000 begin web pod.wait: attach volume pvc-1",
				"00:11.000 end web pod.wait: attach volume pvc-1 9s", "00:11.000 end web volume: setup " + csi + " MountVolume.WaitForAttach failed" + strings.ReplaceAll(of, `\"`, `"`) + ": timed out 9s",
				"00:11.000 begin web pod.wait: backoff volume pvc-1",
			},
		},
		"V1": {
			lines(
				`00:02.0 I "MountVolume.WaitForAttach entering`+of+`DevicePath \"\"`+pod,
				`00:02.001 I "operationExecutor.MountVolume started`+of+pod,
				`00:05.0 I "MountVolume.WaitForAttach succeeded`+of+`DevicePath \"csi-1\"`+pod,
				`00:09.0 I "MountVolume.MountDevice succeeded`+of+`device mount path \"/x\"`+pod,
				`00:10.0 I "MountVolume.SetUp succeeded`+of+pod,
			),
			[]string{
				"00:02.000 begin web volume: setup " + csi, "00:02.000 begin web pod.wait: attach volume pvc-1",
				"00:05.000 end web pod.wait: attach volume pvc-1 3s", "00:10.000 end web volume: setup " + csi + " 8s",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _, _ := all(t, c.log)
			if diff := cmp.Diff(c.want, told(recs)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
