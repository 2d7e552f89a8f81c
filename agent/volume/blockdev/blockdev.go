// Package blockdev maps block devices into the directories of pods.
//
// It owns the two entries of a device that a pod uses: a bind mount below the plugin's global directory, and a link in the pod's
// directory. Both are in upstream's format, so that upstream's kubelet and kubeloupe find each other's. Upstream also keeps each
// device open through a loop device; here the bind mount does that, and a loop device that upstream left is released.
//
// It runs no goroutine and publishes nothing.
//
// Upstream: pkg/volume/util/volumepathhandler, pkg/volume/util, MapBlockVolume.
package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
)

// Mounter is the part of k8s.io/mount-utils that this package needs.
type Mounter interface {
	MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error
	Unmount(target string) error
}

// Map adds a device to the global directory as name, and links it at link. A further call changes nothing.
func Map(m Mounter, device, globalDir, name, link string) error {
	if err := bind(m, device, globalDir, filepath.Join(globalDir, name)); err != nil {
		return err
	}
	if to, err := os.Readlink(link); err == nil && to == device {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(device, link)
}

func bind(m Mounter, device, dir, path string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if mounted, err := mounted(path); err != nil || mounted {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o640)
	if err != nil {
		return err
	}
	_ = f.Close()
	if err := m.MountSensitiveWithoutSystemd(device, path, "", []string{"bind"}, nil); err != nil {
		return fmt.Errorf("bind device %s: %w", device, err)
	}
	return nil
}

// Unmap undoes Map. Missing entries are no error.
func Unmap(m Mounter, globalDir, name, link string) error {
	if err := Unbind(m, globalDir, name); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Unbind is Unmap without removing the link, which shows that the volume exists.
func Unbind(m Mounter, globalDir, name string) error {
	path := filepath.Join(globalDir, name)
	if err := freeLoop(path); err != nil {
		return fmt.Errorf("let the loop device of %s go: %w", path, err)
	}
	is, err := mounted(path)
	if err != nil {
		return err
	}
	if is {
		if err := m.Unmount(path); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Others reports whether the global directory has entries other than name.
func Others(globalDir, name string) (bool, error) {
	entries, err := os.ReadDir(globalDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, e := range entries {
		if e.Name() != name {
			return true, nil
		}
	}
	return false, nil
}

func mounted(path string) (bool, error) {
	is, err := mountinfo.Mounted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
}
