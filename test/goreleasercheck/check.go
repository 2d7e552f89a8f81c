package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// promised is what each release has.
var promised = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}

// check returns all that is wrong with a project whose files are in tree.
func check(p config.Project, tree fs.FS) []string {
	var c checker
	if p.Version != 2 {
		c.say("version: want 2")
	}
	if p.ProjectName == "" {
		c.say("project_name: missing")
	}
	c.builds(p.Builds, tree)
	c.archives(p, tree)
	c.images(p, tree)
	c.packages(p, tree)
	c.krew(p)
	c.sboms(p)
	c.render("checksum.name_template", cmp.Or(p.Checksum.NameTemplate, "checksums"), fields(p, "linux/amd64"))
	c.render("snapshot.version_template", p.Snapshot.VersionTemplate, fields(p, "linux/amd64"))
	return c.problems
}

type checker struct{ problems []string }

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) builds(builds []config.Build, tree fs.FS) {
	binaries := map[string]string{} // target and name → build
	var have []string
	for i, b := range builds {
		field := fmt.Sprintf("builds[%d]", i)
		if fi, err := fs.Stat(tree, path.Clean(b.Main)); err != nil || !fi.IsDir() {
			c.say("%s.main: there is no package %s", field, b.Main)
		}
		if !slices.Contains(b.Env, "CGO_ENABLED=0") {
			c.say("%s.env: want CGO_ENABLED=0: releases are static", field)
		}
		for _, flags := range b.Ldflags {
			c.render(field+".ldflags", flags, fields(config.Project{}, "linux/amd64"))
		}
		for _, target := range targets(b) {
			have = append(have, target)
			key := target + " " + b.Binary
			if first, ok := binaries[key]; ok {
				c.say("%s: builds %s, as %s does", field, key, first)
				continue
			}
			binaries[key] = field
		}
	}
	slices.Sort(have)
	if have = slices.Compact(have); !slices.Equal(have, promised) {
		c.say("builds: targets are %s, want %s", strings.Join(have, " "), strings.Join(promised, " "))
	}
}

// targets returns what a build is for, as os/arch.
func targets(b config.Build) []string {
	if len(b.Targets) > 0 {
		var all []string
		for _, t := range b.Targets { // linux_amd64, linux_amd64_v1
			parts := append(strings.Split(t, "_"), "", "")
			all = append(all, parts[0]+"/"+parts[1])
		}
		return all
	}
	var all []string
	for _, goos := range b.Goos {
		for _, goarch := range b.Goarch {
			all = append(all, goos+"/"+goarch)
		}
	}
	return all
}

func (c *checker) archives(p config.Project, tree fs.FS) {
	ids := map[string]bool{}
	for _, b := range p.Builds {
		ids[b.ID] = true
	}
	names := map[string]string{} // file name → archive
	for i, a := range p.Archives {
		field := fmt.Sprintf("archives[%d]", i)
		for _, id := range a.IDs {
			if !ids[id] {
				c.say("%s.ids: there is no build %s", field, id)
			}
		}
		sources := map[string]bool{}
		for _, f := range a.Files {
			sources[f.Source] = true
			if m, err := fs.Glob(tree, f.Source); err != nil || len(m) == 0 {
				c.say("%s.files: there is no %s", field, f.Source)
			}
		}
		for _, want := range []string{"LICENSE", "README.md"} {
			if !sources[want] {
				c.say("%s.files: want %s", field, want)
			}
		}
		for _, b := range p.Builds {
			if len(a.IDs) > 0 && !slices.Contains(a.IDs, b.ID) {
				continue
			}
			for _, target := range targets(b) {
				for _, format := range a.Formats {
					name, ok := c.render(field+".name_template", a.NameTemplate, fields(p, target))
					if !ok {
						return
					}
					name += "." + string(format)
					if first, ok := names[name]; ok {
						c.say("%s.name_template: %s for %s is the name for %s too", field, name, target, first)
						continue
					}
					names[name] = target
				}
			}
		}
	}
	if len(names) < len(promised) {
		c.say("archives: %d names for %d targets: %s", len(names), len(promised), strings.Join(slices.Sorted(maps.Keys(names)), " "))
	}
}

// images checks the container images: of a build that there is, for all of Linux that we promise, and with the name that deploy/attach runs.
func (c *checker) images(p config.Project, tree fs.FS) {
	if len(p.Kos) == 0 {
		c.say("kos: want the image of deploy/attach")
	}
	deployed, err := fs.ReadFile(tree, "deploy/attach/kustomization.yaml")
	if err != nil {
		c.say("kos: %v", err)
	}
	for i, k := range p.Kos {
		field := fmt.Sprintf("kos[%d]", i)
		if !slices.ContainsFunc(p.Builds, func(b config.Build) bool { return b.ID == k.Build }) {
			c.say("%s.build: there is no build %s", field, k.Build)
		}
		linux := slices.DeleteFunc(slices.Clone(promised), func(target string) bool { return !strings.HasPrefix(target, "linux/") })
		if !slices.Equal(slices.Sorted(slices.Values(k.Platforms)), linux) {
			c.say("%s.platforms: are %s, want %s", field, strings.Join(k.Platforms, " "), strings.Join(linux, " "))
		}
		if k.BaseImage == "" || !k.Bare {
			c.say("%s: want base_image, and bare: true, or the image has a name that ko makes up", field)
		}
		for _, name := range k.Repositories {
			if !strings.Contains(string(deployed), "newName: "+name+"\n") {
				c.say("%s.repositories: %s is not what deploy/attach runs", field, name)
			}
		}
		if len(k.Repositories) == 0 || len(k.Tags) == 0 {
			c.say("%s: want repositories and tags", field)
		}
		for _, tag := range append(k.Tags, k.CreationTime) {
			c.render(field+".tags", tag, fields(p, "linux/amd64"))
		}
	}
}

// render executes a template with the fields and the functions of goreleaser's
// that this project uses: one that is not here is an error, to be added.
func (c *checker) render(field, text string, data map[string]string) (string, bool) {
	t, err := template.New(field).Option("missingkey=error").Funcs(template.FuncMap{
		"incpatch": func(v string) string { return v + "+1" },
	}).Parse(text)
	if err != nil {
		c.say("%v", err)
		return "", false
	}
	var out strings.Builder
	if err := t.Execute(&out, data); err != nil {
		c.say("%v", err)
		return "", false
	}
	if out.Len() == 0 {
		c.say("%s: empty", field)
	}
	return out.String(), true
}

// fields is a made-up release.
func fields(p config.Project, target string) map[string]string {
	goos, goarch, _ := strings.Cut(target, "/")
	return map[string]string{
		"ProjectName": p.ProjectName, "Version": "1.2.3", "Tag": "v1.2.3", "Os": goos, "Arch": goarch,
		"ShortCommit": "abcdef0", "CommitTimestamp": "1700000000",
	}
}
