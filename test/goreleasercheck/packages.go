package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// generated is where a hook before the build writes man pages and completions.
const generated = "bin/package/"

// formats and installed are what each package must have; test/packagecheck builds and reads the packages.
var (
	formats   = []string{"apk", "archlinux", "deb", "rpm"}
	installed = []string{
		"/etc/default/kubeloupe", "/etc/kubeloupe/config.yaml", "/usr/bin/kubectl-loupe", "/usr/lib/systemd/system/kubeloupe.service",
		"/usr/share/bash-completion/completions/kubeloupe", "/usr/share/fish/vendor_completions.d/kubeloupe.fish", "/usr/share/man/man1/",
	}
)

// packages checks deb, rpm, apk and archlinux: their sources exist or are generated, configuration is kept, nothing is missing.
func (c *checker) packages(p config.Project, tree fs.FS) {
	if len(p.NFPMs) != 1 {
		c.say("nfpms: %d sections, want 1", len(p.NFPMs))
		return
	}
	n := p.NFPMs[0]
	if got := slices.Sorted(slices.Values(n.Formats)); !slices.Equal(got, formats) {
		c.say("nfpms[0].formats: are %s, want %s", strings.Join(got, " "), strings.Join(formats, " "))
	}
	for _, id := range n.IDs {
		if !slices.ContainsFunc(p.Builds, func(b config.Build) bool { return b.ID == id }) {
			c.say("nfpms[0].ids: there is no build %s", id)
		}
	}
	if n.Bindir != "/usr/bin" {
		c.say("nfpms[0].bindir: want /usr/bin, where the unit finds the program")
	}
	hooks := slices.ContainsFunc(p.Before.Hooks, func(h string) bool { return strings.HasPrefix(h, "make package-files ") })
	var have []string
	for _, f := range n.Contents {
		have = append(have, f.Destination)
		switch {
		case f.Type == "symlink":
		case strings.HasPrefix(f.Source, generated):
			if !hooks {
				c.say("nfpms[0].contents: before.hooks: want make package-files, which writes %s", f.Source)
			}
		default:
			c.source("nfpms[0].contents", f.Source, tree)
		}
		if strings.HasPrefix(f.Destination, "/etc/") && f.Type != "config|noreplace" {
			c.say("nfpms[0].contents: %s: want type config|noreplace, or an upgrade replaces what the operator changed", f.Destination)
		}
	}
	for _, want := range installed {
		if !slices.Contains(have, want) {
			c.say("nfpms[0].contents: want %s", want)
		}
	}
	for _, s := range []string{n.Scripts.PostInstall, n.Scripts.PreRemove, n.Scripts.PostRemove} {
		c.source("nfpms[0].scripts", s, tree)
	}
}

func (c *checker) source(field, name string, tree fs.FS) {
	if m, err := fs.Glob(tree, path.Clean(name)); err != nil || len(m) == 0 {
		c.say("%s: there is no %s", field, name)
	}
}

// krew checks the manifest of kubectl's plugin: kubectl finds it by the name of the program's link.
func (c *checker) krew(p config.Project) {
	if len(p.Krews) != 1 {
		c.say("krews: %d sections, want 1", len(p.Krews))
		return
	}
	k := p.Krews[0]
	if k.Name != "loupe" {
		c.say("krews[0].name: want loupe, for kubectl loupe")
	}
	if k.ShortDescription == "" || k.Description == "" || k.Homepage == "" {
		c.say("krews[0]: want short_description, description and homepage: krew refuses a manifest without")
	}
	if len(k.ShortDescription) > 50 {
		c.say("krews[0].short_description: %d characters, krew's index permits 50", len(k.ShortDescription))
	}
}

// sboms checks that each program has a list of its modules, in a file of its own.
func (c *checker) sboms(p config.Project) {
	if len(p.SBOMs) != 1 || p.SBOMs[0].Artifacts != "binary" {
		c.say("sboms: want one section, with artifacts: binary")
		return
	}
	names := map[string]bool{}
	for _, target := range promised {
		for _, d := range p.SBOMs[0].Documents {
			if name, ok := c.render("sboms[0].documents", d, fields(p, target)); ok {
				names[name] = true
			}
		}
	}
	if len(names) != len(promised) {
		c.say("sboms[0].documents: %d names for %d targets", len(names), len(promised))
	}
}
