package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The sizes of the disks; the files are sparse.
const (
	diskSize = 8 << 30
	swapSize = 256 << 20
	dataSize = 1 << 30
)

// The machine's files, in its directory.
const (
	kernelFile = "vmlinuz"
	initrdFile = "initrd"
	diskFile   = "disk.img"
	swapFile   = "swap.img"
	dataFile   = "data.img"
)

// disks makes the machine's disks, its kernel and the kernel's first file system.
func (m *Machine) disks(ctx context.Context, archive string, cfg Config) (err error) {
	if err := command(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", m.path("key")); err != nil {
		return err
	}
	public, err := os.ReadFile(m.path("key.pub"))
	if err != nil {
		return err
	}
	root := m.path("root")
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	if err := tree(ctx, archive, root, string(public), cfg); err != nil {
		return err
	}
	for name, pattern := range map[string]string{kernelFile: "boot/vmlinuz-*", initrdFile: "boot/initrd.img-*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%s has %d files %s", archive, len(found), pattern)
		}
		if err := os.Rename(found[0], m.path(name)); err != nil {
			return err
		}
	}
	if err := m.disk(ctx, diskFile, diskSize, "mke2fs", "-q", "-t", "ext4", "-d", root); err != nil || !cfg.Disks {
		return err
	}
	if err := m.disk(ctx, swapFile, swapSize, "mkswap"); err != nil {
		return err
	}
	return m.disk(ctx, dataFile, dataSize, "mke2fs", "-q", "-t", "ext4")
}

// disk makes a file, and what is on it by a command, whose last argument is the file.
func (m *Machine) disk(ctx context.Context, name string, size int64, format string, args ...string) error {
	path := m.path(name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(path, size); err != nil {
		return err
	}
	return command(ctx, format, append(args, path)...)
}
