package packagecheck

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// built is what all tests share: a package of each format.
var built struct {
	config   config.NFPM
	release  Release
	packages map[string]string // format → file
}

func TestMain(m *testing.M) {
	if runtime.GOOS != "linux" {
		fmt.Println("skipped: packages are for Linux")
		return
	}
	dir, err := os.MkdirTemp("", "kubeloupe-packages")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packagecheck:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build runs the hooks that make files for packages, as goreleaser does before a release, and builds a package of each format.
func build(dir string) error {
	if err := os.Chdir("../.."); err != nil {
		return err
	}
	project, nfpms, err := Load(".")
	if err != nil {
		return err
	}
	version, err := versionOf()
	if err != nil {
		return err
	}
	for _, h := range project.Before.Hooks {
		line, err := Render(h.Cmd, version)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(line, "make ") {
			continue
		}
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil { //nolint:gosec // the line is ours
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	built.config, built.packages = nfpms, map[string]string{}
	built.release = Release{Binary: "bin/kubeloupe", Arch: runtime.GOARCH, Version: version, Time: time.Now().Truncate(time.Second)}
	for _, format := range nfpms.Formats {
		if built.packages[format], err = Build(nfpms, built.release, format, dir); err != nil {
			return err
		}
	}
	return nil
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

// need skips a test without a program, and says which Debian package has it.
func need(t *testing.T, programs ...string) {
	t.Helper()
	packages := map[string]string{"rpm": "rpm", "bsdtar": "libarchive-tools", "dpkg": "dpkg", "dpkg-deb": "dpkg", "mandoc": "mandoc", "zsh": "zsh", "fish": "fish", "man": "man-db", "bash": "bash"}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed: apt-get install %s", p, packages[p])
		}
	}
}

// run returns what a command prints to its stdout. It fails the test if the command fails.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := try(t, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), errors.Join(fmt.Errorf("%s: %w", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err), errors.New(out.String()+errs.String()))
	}
	return out.String(), nil
}
