//go:build !linux

package inotify

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Watcher is only available on Linux.
type Watcher struct{}

// New fails.
func New() (*Watcher, error) { return nil, unsupported() }

func unsupported() error {
	return fmt.Errorf("%s has no inotify: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Add fails.
func (*Watcher) Add(string, Op) (int, error) { return -1, unsupported() }

// AddFile fails.
func (*Watcher) AddFile(string, Op) (int, error) { return -1, unsupported() }

// Remove does nothing.
func (*Watcher) Remove(int) {}

// Read fails.
func (*Watcher) Read([]byte) ([]Event, error) { return nil, unsupported() }

// ReadWithin fails.
func (*Watcher) ReadWithin([]byte, time.Duration) ([]Event, error) { return nil, unsupported() }

// Close does nothing.
func (*Watcher) Close() error { return nil }
