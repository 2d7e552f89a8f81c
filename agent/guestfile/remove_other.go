//go:build !linux

package guestfile

import (
	"context"
	"os"
)

// RemoveAll removes path and everything below. It is no error if path does not exist.
func RemoveAll(_ context.Context, path string) error { return os.RemoveAll(path) }
