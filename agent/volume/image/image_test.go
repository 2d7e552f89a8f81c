package image

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func of(reference string, policy v1.PullPolicy) volume.Spec {
	return volume.Spec{
		Pod:    &v1.Pod{},
		Volume: &v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: reference, PullPolicy: policy}}},
	}
}

func TestSetUp(t *testing.T) {
	refused := errors.New("the image is not there")
	var asked []*v1.ImageVolumeSource
	p, err := New(func(_ context.Context, _ *v1.Pod, src *v1.ImageVolumeSource) (*runtimeapi.ImageSpec, error) {
		asked = append(asked, src)
		if src.PullPolicy == v1.PullNever {
			return nil, refused
		}
		return &runtimeapi.ImageSpec{Image: "sha256:1", UserSpecifiedImage: src.Reference}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := of("registry.test/a:1", v1.PullIfNotPresent)
	got, err := p.SetUp(t.Context(), s)
	if err != nil || !got.ReadOnly || got.HostPath != "" || got.Image.GetImage() != "sha256:1" || got.Image.GetUserSpecifiedImage() != "registry.test/a:1" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = p.SetUp(t.Context(), of("registry.test/b:1", v1.PullNever))
	if _, missing := errors.AsType[*volume.MissingError](err); !missing || !errors.Is(err, refused) || !cmp.Equal(got, criconfig.Volume{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if len(asked) != 2 || asked[0] != s.Volume.Image {
		t.Errorf("asked for %v", asked)
	}
	if err := p.TearDown(t.Context(), volume.Place{Dir: "/nowhere"}); err != nil {
		t.Error(err)
	}
}

// A volume is set up again only when its image or its policy changes.
func TestVersion(t *testing.T) {
	p, err := New(func(context.Context, *v1.Pod, *v1.ImageVolumeSource) (*runtimeapi.ImageSpec, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range []volume.Spec{of("a", v1.PullAlways), of("a", v1.PullNever), of("b", v1.PullAlways)} {
		v, err := p.Version(s)
		again, _ := p.Version(s)
		if err != nil || seen[v] || again != v {
			t.Errorf("version %q, then %q, %v", v, again, err)
		}
		seen[v] = true
	}
	if _, err := p.Version(of("", v1.PullAlways)); err == nil {
		t.Error("an image without a name has a version")
	}
}

func TestWhatItTakes(t *testing.T) {
	if _, err := New(nil); err == nil {
		t.Error("made without a way to get images")
	}
	p := &Plugin{}
	if !p.CanSupport(of("a", "").Volume) || p.CanSupport(&v1.Volume{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}) {
		t.Error("it takes volumes of images, and no others")
	}
}
