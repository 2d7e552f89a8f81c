package volume

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// Records and numbers of volumes name the CSI driver, also when the volume is torn down.
func TestOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		pv := testPV()
		pv.Spec.CSI.Driver = "disk.example.com"
		m := running(t, Config{Plugins: []Plugin{&attachPlugin{}, &contentPlugin{}}, Claims: &oneClaim{pv: pv}, Bus: rec.Bus()})
		pod := claimPod("u", "data")
		more := inlinePod("u", v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
		pod.Spec.Volumes = append(pod.Spec.Volumes, more.Spec.Volumes...)
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, more.Spec.Containers[0].VolumeMounts...)
		if _, err := m.Mount(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"test/attach:disk.example.com": 1, "test/attach:ebs.csi.aws.com": 1, "test/content": 1}
		if c := m.Counts(); !maps.Equal(c.Desired, want) || !maps.Equal(c.Actual, want) {
			t.Errorf("%v and %v, want %v", c.Desired, c.Actual, want)
		}
		if err := m.Unmount(t.Context(), trace.Pod{UID: "u"}); err != nil {
			t.Error(err)
		}
		var told []string
		for _, e := range tracetest.Events[trace.Volume](rec) {
			told = append(told, fmt.Sprintf("%s %s %s %t %t", e.Op, e.Name, e.Driver, e.Migrated, e.Block))
		}
		slices.Sort(told)
		if want := []string{
			"setup b  false false", "setup ebs.csi.aws.com-vol-1 ebs.csi.aws.com true false", "setup pv disk.example.com false false",
			"teardown b  false false", "teardown ebs.csi.aws.com-vol-1 ebs.csi.aws.com true false", "teardown pv disk.example.com false false",
		}; !slices.Equal(slices.Compact(told), want) {
			t.Errorf("%q, want %q", told, want)
		}
	})
}

func TestOriginOfInlineCSI(t *testing.T) {
	v := &v1.Volume{VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}}
	if got := originOf(Spec{Volume: v}); got != (origin{driver: "d"}) {
		t.Errorf("%+v", got)
	}
}
