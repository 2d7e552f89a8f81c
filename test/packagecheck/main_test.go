package main

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
)

// built is what all tests share: a package of each format. The current directory is the root of the work tree.
var built result

func TestMain(m *testing.M) {
	if runtime.GOOS != "linux" {
		fmt.Println("skipped: packages are for Linux")
		return
	}
	dir, err := os.MkdirTemp("", "kubeloupe-packages")
	if err == nil {
		built, err = packages("../..", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packagecheck:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// need skips a test without a program, and says which Debian package has it.
func need(t *testing.T, programs ...string) {
	t.Helper()
	packages := map[string]string{"rpm": "rpm", "bsdtar": "libarchive-tools", "dpkg": "dpkg", "dpkg-deb": "dpkg", "mandoc": "mandoc", "zsh": "zsh", "fish": "fish", "man": "man-db", "bash": "bash", "systemd-analyze": "systemd", "unshare": "util-linux", "ip": "iproute2"}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed: apt-get install %s", p, packages[p])
		}
	}
}

// output returns what a command prints to its stdout. It fails the test if the command fails.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := try(t, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// combined returns what a command prints to its stdout and its stderr.
func combined(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	return string(out), err
}

func try(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "DEBIAN_FRONTEND=noninteractive")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), errors.Join(fmt.Errorf("%s: %w", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err), errors.New(out.String()+errs.String()))
	}
	return out.String(), nil
}
