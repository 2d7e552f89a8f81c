package lab

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/kubeloupe/kubeloupe/test/ownnet"
)

func TestExportImages(t *testing.T) {
	ownnet.Need(t)
	dir := t.TempDir()
	if err := ExportImages(t.Context(), t.Output(), dir, "example.test", ImagePause, ImageBusybox); err != nil {
		t.Fatal(err)
	}
	for file, image := range map[string]string{"pause.tar": "example.test/kubeloupe/pause:3.10", "busybox.tar": "example.test/kubeloupe/busybox:1"} {
		tag, err := name.NewTag(image)
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.ImageFromPath(filepath.Join(dir, file), &tag)
		if err != nil {
			t.Fatal(err)
		}
		if layers, err := img.Layers(); err != nil || len(layers) == 0 {
			t.Errorf("%s has %d layers, %v", file, len(layers), err)
		}
	}
	if err := ExportImages(t.Context(), nil, dir, "example.test", "vim"); err == nil || !strings.Contains(err.Error(), "vim") {
		t.Errorf("an image that there is not: %v", err)
	}
}
