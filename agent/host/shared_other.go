//go:build !linux

package host

import "github.com/kubeloupe/kubeloupe/trace"

// ShareMounts does nothing: only the simulated runtime runs on these platforms.
func ShareMounts(*trace.Bus, string) {}
