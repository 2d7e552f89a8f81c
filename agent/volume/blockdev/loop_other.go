//go:build !linux

package blockdev

func freeLoop(string) error { return nil }
