package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// result is what [packages] built.
type result struct {
	config   config.NFPM
	release  Release
	packages map[string]string // format → file
}

// packages runs the hooks that make files for packages, as goreleaser does before a release, and builds a package of each format in dir.
// The root of the work tree is the current directory from then on.
func packages(root, dir string) (r result, err error) {
	if err := os.Chdir(root); err != nil {
		return r, err
	}
	project, nfpms, err := Load(".")
	if err != nil {
		return r, err
	}
	version, err := versionOf()
	if err != nil {
		return r, err
	}
	for _, h := range project.Before.Hooks {
		line, err := Render(h, version)
		if err != nil {
			return r, err
		}
		if !strings.HasPrefix(line, "make ") {
			continue
		}
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil { //nolint:gosec // the line is ours
			return r, fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	r.config, r.packages = nfpms, map[string]string{}
	r.release = Release{Binary: "bin/kubeloupe", Arch: runtime.GOARCH, Version: version, Time: time.Now().Truncate(time.Second)}
	for _, format := range nfpms.Formats {
		if r.packages[format], err = Build(nfpms, r.release, format, dir); err != nil {
			return r, err
		}
	}
	return r, nil
}

// versionOf returns the version of the last tag, and of the commit if it has no tag, as goreleaser's snapshots have it.
func versionOf() (string, error) {
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	if tag, err := exec.Command("git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*").Output(); err == nil {
		return strings.TrimPrefix(strings.TrimSpace(string(tag)), "v"), nil
	}
	last, err := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
	if err != nil {
		last = []byte("v0.0.0") // no release yet
	}
	return strings.TrimPrefix(strings.TrimSpace(string(last)), "v") + "-snapshot-" + strings.TrimSpace(string(commit)), nil
}
