//go:build !linux

package lab

import (
	"errors"
	"net/netip"
)

var errLinux = errors.New("the lab runs on Linux only")

func unmount(string) error { return errLinux }

func overlayWorks(_, _, _, _ string) error { return errLinux }

func createBridge(string, netip.Prefix) error { return errLinux }

func deleteBridge(string) error { return errLinux }
