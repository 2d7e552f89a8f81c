package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// debian installs the packages that are missing. They are the few things that
// have no Go module.
func (b builder) debian(ctx context.Context, packages ...string) error {
	missing := slices.DeleteFunc(slices.Clone(packages), func(p string) bool { return installed(ctx, p) })
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("the lab needs what Debian calls %s: install it", names)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("the lab needs Debian packages: run as root: apt-get install -y %s", names)
	}
	unlock, err := lockFile(b.path("apt.lock"))
	if err != nil {
		return err
	}
	defer unlock()

	b.logf("installing Debian packages: %s", names)
	if err := b.run(ctx, "", nil, "apt-get", "update", "-q"); err != nil {
		return err
	}
	args := append([]string{"install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"}, missing...)
	return b.run(ctx, "", []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", args...)
}

// Packages installs Debian packages that are missing, as root.
func Packages(ctx context.Context, log io.Writer, names ...string) error {
	b, err := newBuilder(log)
	if err != nil {
		return err
	}
	return b.debian(ctx, names...)
}

// Chromium installs a browser, for tests of pages and pictures, where Debian
// has one and this user may install it. Elsewhere, those tests say what they
// need.
func Chromium(ctx context.Context, log io.Writer) error {
	b, err := newBuilder(log)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("chromium"); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		b.logf("note: no chromium here, and only root with apt-get can install it: pages and pictures are not opened")
		return nil
	}
	return b.debian(ctx, "chromium")
}

func installed(ctx context.Context, name string) bool {
	out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Status}", name).Output()
	return err == nil && strings.HasSuffix(string(out), " installed")
}

// run runs a command and keeps its output for the error.
func (b builder) run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(out.Bytes(), 20))
	}
	return nil
}

// tail returns the last n lines of text.
func tail(text []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
