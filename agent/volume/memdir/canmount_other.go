//go:build !linux

package memdir

import "runtime"

func canMount() error { return &UnsupportedError{Why: "Linux is required, this is " + runtime.GOOS} }
