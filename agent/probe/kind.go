package probe

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Kind is the kind of a container's probe.
type Kind uint8

// The kinds.
const (
	Startup Kind = iota
	Readiness
	Liveness
	kinds = 3
)

// Trace returns the kind as in records.
func (k Kind) Trace() trace.ProbeKind {
	return [kinds]trace.ProbeKind{trace.ProbeStartup, trace.ProbeReadiness, trace.ProbeLiveness}[k]
}

// String returns the kind in lower case.
func (k Kind) String() string { return string(k.Trace()) }

// title returns the kind as in events.
func (k Kind) title() string { return [kinds]string{"Startup", "Readiness", "Liveness"}[k] }

// Result is the result of a probe.
type Result uint8

// The results.
const (
	Unknown Result = iota
	Success
	Failure
)

// Trace returns the result as in records.
func (r Result) Trace() trace.ProbeState {
	return [...]trace.ProbeState{trace.ProbeUnknown, trace.ProbeSays, trace.ProbeDenies}[r]
}

// String returns the result in lower case.
func (r Result) String() string { return string(r.Trace()) }

// initial returns the result before the first attempt: not started, not ready, alive.
func (k Kind) initial() Result { return [kinds]Result{Unknown, Failure, Success}[k] }

// Update is a change of a probe's result.
type Update struct {
	UID types.UID
	// Probe is the kind, Container the name, ContainerID the runtime's ID without prefix.
	Probe       Kind
	Container   string
	ContainerID string
	Result      Result
}
