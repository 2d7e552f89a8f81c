package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"go.yaml.in/yaml/v3"
)

// mapped are the fields of nfpms that [Build] gives to nfpm. Another field is an error: goreleaser would use it, and a test would not.
var mapped = []string{
	"id", "ids", "package_name", "formats", "file_name_template", "vendor", "homepage", "maintainer", "description", "license", "section",
	"priority", "bindir", "mtime", "umask", "recommends", "contents", "scripts", "rpm", "libdirs",
}

// Load reads .goreleaser.yaml of the work tree in root, and returns its only nfpms.
func Load(root string) (config.Project, config.NFPM, error) {
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		return project, config.NFPM{}, fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	if len(project.NFPMs) != 1 {
		return project, config.NFPM{}, fmt.Errorf("nfpms: %d sections, want 1", len(project.NFPMs))
	}
	return project, project.NFPMs[0], known(project.NFPMs[0])
}

// known returns an error for fields that Build does not give to nfpm.
func known(n config.NFPM) error {
	text, err := yaml.Marshal(n)
	if err != nil {
		return fmt.Errorf("nfpms[0]: %w", err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("nfpms[0]: %w", err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(mapped, name) {
			errs = append(errs, fmt.Errorf("nfpms[0].%s: test/packagecheck does not use it", name))
		}
	}
	return errors.Join(errs...)
}

// Render executes a template of goreleaser's with a version.
func Render(text, version string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]string{"Version": version}); err != nil {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	return b.String(), nil
}
