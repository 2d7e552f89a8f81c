package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// TestCheck changes our own file, which is fine, in ways that are not.
func TestCheck(t *testing.T) {
	ours, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := os.ReadFile("../../deploy/attach/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{"deploy/attach/kustomization.yaml": {Data: deployed}, "cmd/kubeloupe/main.go": {}, "LICENSE": {}, "README.md": {}}
	for _, name := range []string{"systemd/kubeloupe.service", "package/config.yaml", "package/default", "package/postinstall.sh", "package/preremove.sh", "package/postremove.sh"} {
		tree["deploy/"+name] = &fstest.MapFile{}
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"ours", "", "", ""},
		{"unknown field", "goarch:", "goarhc:", "goarhc"},
		{"unknown field at the top", "checksum:", "checksums:", "checksums"},
		{"target missing", "[amd64, arm64]", "[amd64]", "builds: targets are darwin/amd64 linux/amd64, want "},
		{"target too many", "[linux, darwin]", "[linux, darwin, windows]", "builds: targets are "},
		{"no such main", "./cmd/kubeloupe", "./cmd/loupe", "builds[0].main: there is no package ./cmd/loupe"},
		{"cgo", "CGO_ENABLED=0", "CGO_ENABLED=1", "builds[0].env: want CGO_ENABLED=0"},
		{"duplicate names", "_{{ .Arch }}", "", "archives[0].name_template: kubeloupe_1.2.3_linux.tar.gz for linux/arm64 is the name for linux/amd64 too"},
		{"bad template", "{{ .Arch }}", "{{ .Arch }", "archives[0].name_template"},
		{"unknown template field", "{{ .Arch }}", "{{ .Architecture }}", `map has no entry for key "Architecture"`},
		{"no license", "      - LICENSE\n", "", "archives[0].files: want LICENSE"},
		{"no such file", "- README.md", "- README.txt", "archives[0].files: there is no README.txt"},
		{"image of no build", "build: kubeloupe", "build: loupe", "kos[0].build: there is no build loupe"},
		{"image for too few", "[linux/amd64, linux/arm64]", "[linux/amd64]", "kos[0].platforms: are linux/amd64, want linux/amd64 linux/arm64"},
		{"image with ko's name", "bare: true", "bare: false", "kos[0]: want base_image, and bare: true"},
		{"image that nobody runs", "ghcr.io/kubeloupe/kubeloupe", "ghcr.io/kubeloupe/loupe", "kos[0].repositories: ghcr.io/kubeloupe/loupe is not what deploy/attach runs"},
		{"bad tag", "{{ .Version }}\", latest", "{{ .Versions }}\", latest", `map has no entry for key "Versions"`},
		{"format missing", "[deb, rpm, apk, archlinux]", "[deb, rpm]", "nfpms[0].formats: are deb rpm, want apk archlinux deb rpm"},
		{"package without its unit", "dst: /usr/lib/systemd/system/kubeloupe.service", "dst: /usr/lib/kubeloupe.service", "want /usr/lib/systemd/system/kubeloupe.service"},
		{"package of no file", "src: deploy/package/default", "src: deploy/package/defaults", "nfpms[0].contents: there is no deploy/package/defaults"},
		{"script of no file", "preremove: deploy/package/preremove.sh", "preremove: deploy/package/prerm.sh", "nfpms[0].scripts: there is no deploy/package/prerm.sh"},
		{"configuration that is replaced", "type: config|noreplace, ", "", "want type config|noreplace"},
		{"nothing generated", "    - make package-files VERSION={{ .Version }}\n", "", "before.hooks: want make package-files"},
		{"another plugin", "name: loupe\n", "name: lens\n", "krews[0].name: want loupe"},
		{"plugin that says too much", "Explain slow and failed pod starts", "Explain slow and failed pod starts, and much more than that", "krews[0].short_description"},
		{"one SBOM for all", "_{{ .Os }}_{{ .Arch }}.cdx.json", ".cdx.json", "sboms[0].documents: 1 names for 4 targets"},
		{"no version", "version: 2\n", "version: 1\n", "version: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := string(ours)
			if c.old != "" && !strings.Contains(text, c.old) {
				t.Fatalf("%q is not in .goreleaser.yaml any more", c.old)
			}
			text = strings.ReplaceAll(text, c.old, c.new)
			if c.old == "" {
				text = string(ours)
			}
			var got string
			if p, err := config.LoadReader(strings.NewReader(text)); err != nil {
				got = err.Error()
			} else {
				got = strings.Join(check(p, tree), "\n")
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
