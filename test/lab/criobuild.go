package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// CRIOVersion is the version of CRI-O.
const CRIOVersion = "v1.34.0"

// conmon monitors CRI-O's containers. Debian has it.
const conmon = "/usr/bin/conmon"

// crioTags leave out what needs further C libraries.
const crioTags = "seccomp,containers_image_openpgp,containers_image_ostree_stub,exclude_graphdriver_btrfs"

// BuildCRIO builds CRI-O and its helper pinns where they are missing, and returns the directory of both. It takes some ten minutes on two
// processors. CRI-O's monitor of containers, conmon, is a Debian package, which is installed.
func BuildCRIO(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	if !exists(conmon) {
		if err := b.debian(ctx, "conmon"); err != nil {
			return "", err
		}
	}
	return b.ensure("crio", CRIOVersion, "bin", func(tmp string) error {
		if err := b.debian(ctx, "libseccomp-dev", "pkg-config", "gcc", "libc6-dev"); err != nil {
			return err
		}
		source, err := crioSource(ctx)
		if err != nil {
			return fmt.Errorf("find the source of CRI-O: %w", err)
		}
		env := []string{"CGO_ENABLED=1", "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH="}
		if err := b.run(ctx, source, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-tags="+crioTags, "-o", filepath.Join(tmp, "crio"), "./cmd/crio"); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(source, "pinns", "src", "*.c"))
		if err != nil {
			return err
		}
		return b.run(ctx, "", nil, "gcc", append([]string{"-std=c99", "-Os", "-static", "-o", filepath.Join(tmp, "pinns")}, files...)...)
	})
}

// crioSource downloads CRI-O's module and returns its directory, in which it is built: "go install" would ask for a list of its versions, which
// not every proxy has.
func crioSource(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", "github.com/cri-o/cri-o@"+CRIOVersion).Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); err == nil {
		err = jsonErr
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, module.Error)
	}
	return module.Dir, nil
}
