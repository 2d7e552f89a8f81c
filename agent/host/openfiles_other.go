//go:build !linux

package host

import "github.com/kubeloupe/kubeloupe/trace"

// RaiseOpenFiles does nothing: only the simulated runtime runs on these platforms.
func RaiseOpenFiles(*trace.Bus, int64, bool) {}
