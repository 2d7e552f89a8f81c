//go:build !linux

package host

import "github.com/kubeloupe/kubeloupe/trace"

// RaiseOpenFiles leaves the limit alone: only the simulated runtime runs here.
func RaiseOpenFiles(*trace.Bus, int64, bool) {}
