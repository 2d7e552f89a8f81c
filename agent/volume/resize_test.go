package volume

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// limitPlugin notes where it resizes a volume.
type limitPlugin struct {
	fakePlugin
	at  string
	err error
}

func (p *limitPlugin) Resize(s Spec) error {
	p.at = s.Dir
	return p.err
}

func TestResize(t *testing.T) {
	p := &limitPlugin{}
	m, err := New(Config{RootDir: "/root", Plugins: []Plugin{p, &attachPlugin{}}})
	if err != nil {
		t.Fatal(err)
	}
	pod := &v1.Pod{}
	pod.UID = "u"
	pod.Spec.Volumes = []v1.Volume{
		{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "other", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}},
	}
	if err := m.Resize(pod, "v"); err != nil || p.at != "/root/pods/u/volumes/test~fake/v" {
		t.Errorf("%v, at %s", err, p.at)
	}
	p.err = errors.New("invalid argument")
	for name, want := range map[string]string{"v": "resize volume v: invalid argument", "other": "must be an emptyDir", "unknown": "no such volume"} {
		if err := m.Resize(pod, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
