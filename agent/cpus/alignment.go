package cpus

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/agent/cpus/state"
)

// AlignmentError says that a container cannot get whole cores. The texts are upstream's.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_static.go, SMTAlignmentError.
type AlignmentError struct {
	Requested, PerCore int
	// Free are the free CPUs, if there are too few of them.
	Free int
	Few  bool
}

// Error implements error.
func (e *AlignmentError) Error() string {
	if e.Few {
		return fmt.Sprintf("SMT Alignment Error: not enough free physical CPUs: available physical CPUs = %d, requested CPUs = %d, CPUs per core = %d",
			e.Free, e.Requested, e.PerCore)
	}
	return fmt.Sprintf("SMT Alignment Error: requested %d cpus not multiple cpus per core = %d", e.Requested, e.PerCore)
}

// Reason is the reason in the status of the rejected pod.
func (*AlignmentError) Reason() string { return "SMTAlignmentError" }

// aligned checks that n CPUs can be whole cores: the CPUs of reserved cores do not count, so that no allocation needs a part of a core.
//
// Upstream: enforceSMTAlignment.
func (p *static) aligned(c state.Content, n int) error {
	if !p.options.fullCores {
		return nil
	}
	if n%p.perCore != 0 {
		return &AlignmentError{Requested: n, PerCore: p.perCore}
	}
	if free := c.Default.Difference(p.around).Size(); n > free {
		return &AlignmentError{Requested: n, PerCore: p.perCore, Free: free, Few: true}
	}
	return nil
}
