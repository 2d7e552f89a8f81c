package volume

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

func inlinePod(uid string, sources ...v1.VolumeSource) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)}}
	p.Spec.Containers = []v1.Container{{Name: "c"}}
	for i, source := range sources {
		name := string(rune('a' + i))
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	return p
}

// Volumes in a pod of types that CSI drivers have now are persistent volumes of these drivers, also where the volume is on the node.
func TestMigratedVolumes(t *testing.T) {
	const disk = "/subscriptions/../disks/d"
	synctest.Test(t, func(t *testing.T) {
		m := running(t, Config{Plugins: []Plugin{&attachPlugin{}}})
		ebs := v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
		azure := v1.VolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: disk}}
		pod := inlinePod("u", ebs, azure, ebs)
		if err := m.Check(pod); err != nil {
			t.Error(err)
		}
		got, err := m.Mount(t.Context(), pod)
		if err != nil {
			t.Fatal(err)
		}
		for name, on := range map[string]string{"a": "ebs.csi.aws.com-vol-1", "b": "~subscriptions~..~disks~d", "c": "ebs.csi.aws.com-vol-1"} {
			if v := got[name]; v.Name != on || !strings.HasSuffix(v.HostPath, "/pods/u/volumes/test~attach/"+on) {
				t.Errorf("volume %s is %s at %s, want %s", name, v.Name, v.HostPath, on)
			}
		}
		if in := m.InUse(); !slices.Equal(in, []v1.UniqueVolumeName{"test/" + disk, "test/ebs.csi.aws.com-vol-1"}) {
			t.Errorf("in use: %v", in)
		}
		for _, u := range m.Uses("test/attach") {
			if u.Spec.PV.Spec.CSI == nil || u.Spec.PVC != nil || u.Spec.Block {
				t.Errorf("%+v", u.Spec)
			}
		}
		if err := m.Unmount(t.Context(), trace.Pod{UID: "u"}); err != nil {
			t.Error(err)
		}
	})
}

// A source that cannot be translated fails the pod before anything of it is created, but only if a container uses it.
func TestNotMigrated(t *testing.T) {
	m, err := New(Config{RootDir: t.TempDir(), Plugins: []Plugin{&attachPlugin{}}})
	if err != nil {
		t.Fatal(err)
	}
	for want, source := range map[string]v1.VolumeSource{
		`volume "a": failed to translate in-tree pv to CSI: `:              {AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone/disk"}},
		`volume "a": its source "" cannot name a directory`:                {AzureDisk: &v1.AzureDiskVolumeSource{}},
		`volume "a": its source ".." cannot name a directory`:              {AzureDisk: &v1.AzureDiskVolumeSource{DataDiskURI: ".."}},
		`volume "a" is of type flocker, which this build does not support`: {Flocker: &v1.FlockerVolumeSource{}},
	} {
		pod := inlinePod("u", source)
		if err := m.Check(pod); err == nil && !strings.Contains(want, "cannot name") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("checked: %v, want %s", err, want)
		}
		if _, err := m.Mount(t.Context(), pod); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("mounted: %v, want %s", err, want)
		}
		pod.Spec.Containers[0].VolumeMounts = nil
		if err := m.Check(pod); err != nil {
			t.Errorf("no container uses it: %v", err)
		}
	}
	// Without an API server, no plugin has CSI volumes.
	m, err = New(Config{RootDir: t.TempDir(), Plugins: []Plugin{&fakePlugin{}}})
	if err != nil {
		t.Fatal(err)
	}
	pod := inlinePod("u", v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}})
	if err := m.Check(pod); err == nil || !strings.Contains(err.Error(), `volume "a" is of type awsElasticBlockStore, now of the CSI driver ebs.csi.aws.com, which needs an API server, and this agent runs without one`) {
		t.Errorf("error %v", err)
	}
}
