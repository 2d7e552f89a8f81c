package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wanted is what each package has, by its path: the permissions, or where a symbolic link leads.
func wanted(t *testing.T, format string) map[string]string {
	t.Helper()
	want := map[string]string{
		"/usr/bin/kubeloupe":                                  "755",
		"/usr/bin/kubectl-loupe":                              "→ kubeloupe",
		"/usr/bin/kubectl_complete-loupe":                     "→ kubeloupe",
		"/usr/lib/systemd/system/kubeloupe.service":           "644",
		"/etc/kubeloupe/config.yaml":                          "644",
		"/etc/default/kubeloupe":                              "644",
		"/usr/share/bash-completion/completions/kubeloupe":    "644",
		"/usr/share/fish/vendor_completions.d/kubeloupe.fish": "644",
		"/usr/share/doc/kubeloupe/README.md":                  "644",
	}
	if format == "deb" {
		want["/usr/share/zsh/vendor-completions/_kubeloupe"], want["/usr/share/doc/kubeloupe/copyright"] = "644", "644"
	} else {
		want["/usr/share/zsh/site-functions/_kubeloupe"], want["/usr/share/licenses/kubeloupe/LICENSE"] = "644", "644"
	}
	pages, err := os.ReadDir("bin/package/man")
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d man pages, %v", len(pages), err)
	}
	for _, p := range pages {
		want["/usr/share/man/man1/"+p.Name()] = "644"
	}
	for _, p := range []string{"kubeloupe.1.gz", "kubeloupe-run.1.gz", "kubeloupe-why.1.gz"} {
		if want["/usr/share/man/man1/"+p] == "" {
			t.Errorf("there is no man page %s", p)
		}
	}
	return want
}

// TestContents reads each package with another program than nfpm.
func TestContents(t *testing.T) {
	for format, file := range built.packages {
		t.Run(format, func(t *testing.T) {
			got, own := listing(t, format, file)
			if diff := cmp.Diff(wanted(t, format), got); diff != "" {
				t.Errorf("contents (-want +got):\n%s", diff)
			}
			// What is the package's own, besides metadata that begins with a dot.
			for name := range own {
				if !strings.HasPrefix(name, ".") {
					t.Errorf("%s is not at a path of the package", name)
				}
			}
		})
	}
	if got := slices.Sorted(maps.Keys(built.packages)); !slices.Equal(got, []string{"apk", "archlinux", "deb", "rpm"}) {
		t.Errorf("formats are %v", got)
	}
}

// listing returns the files of a package, and the texts of the metadata that apk and archlinux keep among them.
func listing(t *testing.T, format, file string) (files, own map[string]string) {
	t.Helper()
	var stream string
	if format == "deb" {
		need(t, "dpkg-deb")
		stream = output(t, "dpkg-deb", "--fsys-tarfile", file)
	} else {
		need(t, "bsdtar")
		stream = output(t, "bsdtar", "--format=pax", "-cf", "-", "@"+file) // libarchive reads rpm, and what pacman and apk read
	}
	files, own = map[string]string{}, map[string]string{}
	for r := tar.NewReader(strings.NewReader(stream)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, own
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join("/", h.Name)
		if h.Uname+h.Gname != "rootroot" && h.Uid+h.Gid != 0 {
			t.Errorf("%s belongs to %s:%s", name, h.Uname, h.Gname)
		}
		switch {
		case h.Typeflag == tar.TypeDir:
		case strings.Count(name, "/") == 1:
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			own[strings.TrimPrefix(name, "/")] = string(text)
		case h.Typeflag == tar.TypeSymlink:
			files[name] = "→ " + h.Linkname
		default:
			files[name] = fmt.Sprintf("%o", h.Mode&0o7777)
		}
	}
}
