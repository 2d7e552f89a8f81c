//go:build !linux

package memdir

import "errors"

// Kernel mounts nothing here: only Linux has these file systems.
type Kernel struct{}

// Mount implements Mounter.
func (Kernel) Mount(string, string, []string) error { return errors.ErrUnsupported }

// Remount implements Mounter.
func (Kernel) Remount(string, string, []string) error { return errors.ErrUnsupported }

// Unmount implements Mounter.
func (Kernel) Unmount(string) error { return errors.ErrUnsupported }
