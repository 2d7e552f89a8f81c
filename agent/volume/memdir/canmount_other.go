//go:build !linux

package memdir

import "runtime"

func canMount() error { return &UnsupportedError{Why: "that takes Linux, this is " + runtime.GOOS} }
