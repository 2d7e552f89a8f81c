//go:build !linux

package guestfile

import (
	"context"
	"os"
)

// RemoveAll removes what is at path and below. That nothing is there is no error.
func RemoveAll(_ context.Context, path string) error { return os.RemoveAll(path) }
