package downwardapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/downwardapi"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

func config(t *testing.T) downwardapi.Config {
	t.Helper()
	memory, err := memdir.New(memdir.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	return downwardapi.Config{
		Memory: memory, HostIPs: func() []string { return []string{"192.0.2.1"} },
		Allocatable: v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("16Gi")},
	}
}

func field(path, field string, mode *int32) v1.DownwardAPIVolumeFile {
	return v1.DownwardAPIVolumeFile{Path: path, Mode: mode, FieldRef: &v1.ObjectFieldSelector{FieldPath: field}}
}

func items() []v1.DownwardAPIVolumeFile {
	return []v1.DownwardAPIVolumeFile{
		field("labels", "metadata.labels", nil),
		field("meta/name", "metadata.name", new(int32(0o400))),
		{Path: "meta/cpu", ResourceFieldRef: &v1.ResourceFieldSelector{ContainerName: "c", Resource: "limits.cpu"}},
	}
}

func spec(t *testing.T, src v1.VolumeSource) volume.Spec {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "1"}}}
	pod.Spec.Containers = []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{
		{Name: "info", MountPath: "/info/"},
		{Name: "x", MountPath: "/info/nested"},
		{Name: "y", MountPath: "/info/nested/deeper"},
		{Name: "z", MountPath: "/information"},
	}}}
	return volume.Spec{
		Pod: pod, Volume: &v1.Volume{Name: "info", VolumeSource: src},
		Place: volume.Place{Dir: filepath.Join(t.TempDir(), "info")},
	}
}

func setUp(t *testing.T, p *downwardapi.Plugin, s volume.Spec) {
	t.Helper()
	got, err := p.SetUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got.HostPath != s.Dir || !got.ReadOnly || !got.SELinuxRelabel {
		t.Errorf("%+v", got)
	}
	t.Cleanup(func() {
		if err := p.TearDown(t.Context(), s.Place); err != nil {
			t.Error(err)
		}
	})
}

func content(t *testing.T, s volume.Spec, names ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		path := filepath.Join(s.Dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = info.Mode().Perm().String() + " " + string(data)
	}
	return out
}

func TestFiles(t *testing.T) {
	plain, err := downwardapi.New(config(t))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: items(), DefaultMode: new(int32(0o640))}})
	if !plain.CanSupport(s.Volume) {
		t.Fatal("not supported")
	}
	setUp(t, plain, s)
	want := map[string]string{"labels": `-rw-r----- a="1"`, "meta/name": "-r-------- web", "meta/cpu": "-rw-r----- 8"}
	if diff := cmp.Diff(want, content(t, s, "labels", "meta/name", "meta/cpu")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for dir, wanted := range map[string]bool{"nested": true, "nested/deeper": false, "ormation": false} {
		if _, err := os.Stat(filepath.Join(s.Dir, dir)); wanted != (err == nil) {
			t.Errorf("mount point %s: %v", dir, err)
		}
	}
}

func TestFSGroupOpensFiles(t *testing.T) {
	p, err := downwardapi.New(config(t))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: items()}})
	s.Pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(4321))}
	for _, label := range []string{"1", "2"} { // also after an update
		s.Pod.Labels["a"] = label
		setUp(t, p, s)
		want := map[string]string{"labels": `-rw-r--r-- a="` + label + `"`, "meta/name": "-r--r----- web"}
		if diff := cmp.Diff(want, content(t, s, "labels", "meta/name")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestVersionFollowsThePod(t *testing.T) {
	p, err := downwardapi.New(config(t))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(t, v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: items()}})
	version := func() string {
		v, err := p.Version(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := version()
	s.Pod.Annotations = map[string]string{"not": "shown"}
	if version() != first {
		t.Error("changed with what is not shown")
	}
	s.Pod.Labels["a"] = "2"
	if version() == first {
		t.Error("did not change with a label")
	}
}
