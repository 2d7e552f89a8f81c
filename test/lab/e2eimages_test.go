package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// No two names of the tests' images are the same image, even if their files are the same.
func TestE2EImagesDiffer(t *testing.T) {
	programs, dir := t.TempDir(), filepath.Join(t.TempDir(), "layout")
	if err := os.Mkdir(filepath.Join(programs, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"agnhost", "nonewprivs", "regression-issue-74839", "files/localhost.crt", "files/localhost.key", "files/kitten.jpg", "files/data.json",
	} {
		if err := os.WriteFile(filepath.Join(programs, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeE2EImages(dir, e2eParts{pause: empty.Image, programs: programs}); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for _, d := range manifest.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		id, err := img.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		name := d.Annotations["org.opencontainers.image.ref.name"]
		if other := names[id.String()]; other != "" {
			t.Errorf("%s is the same image as %s", name, other)
		}
		names[id.String()] = name
	}
	if len(names) < 10 {
		t.Errorf("only %d images", len(names))
	}
}
