//go:build !linux

package cgroup

import "errors"

var errNoSystemd = errors.New("cgroupDriver systemd: there is no systemd on this system")

func (*Manager) ensureSlice(string, limits) error { return errNoSystemd }

func (*Manager) setSlice(string, limits) error { return errNoSystemd }

func (*Manager) removeSlice(string) error { return errNoSystemd }
