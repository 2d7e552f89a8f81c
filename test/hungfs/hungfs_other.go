//go:build !linux

package hungfs

import (
	"errors"
	"time"
)

// FS is one that is mounted.
type FS struct{}

// Mount fails: this needs Linux.
func Mount(string) (*FS, error) { return nil, errors.New("hungfs: FUSE is Linux's") }

// Hang does nothing.
func (*FS) Hang() {}

// SlowChanges does nothing.
func (*FS) SlowChanges(time.Duration) {}

// Close does nothing.
func (*FS) Close() error { return nil }
