package criconfig

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Reasons that users see in a container's or pod's status.
const (
	// ReasonContainerConfig is the waiting reason of a container that cannot be configured.
	ReasonContainerConfig = "CreateContainerConfigError"
	// ReasonSandbox is the reason of a pod whose sandbox cannot be configured.
	ReasonSandbox = "CreatePodSandboxError"
)

// Error says why a pod cannot be translated. Retrying helps only after the pod, or an object
// that it refers to, has changed.
type Error struct {
	// Reason is one of this package's Reason constants.
	Reason string
	// Container is the container's name, "" for the sandbox.
	Container string
	// Field is the invalid field, as in the pod's manifest.
	Field string
	// Err describes the error and what would be right.
	Err error
	// Says is upstream's text, which tools match, in the place of all others.
	Says string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Says != "" {
		return e.Says
	}
	if e.Container == "" {
		return fmt.Sprintf("%s: %v", e.Field, e.Err)
	}
	return fmt.Sprintf("container %s: %s: %v", e.Container, e.Field, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func containerError(c *v1.Container, field string, err error) error {
	return &Error{Reason: ReasonContainerConfig, Container: c.Name, Field: field, Err: err}
}

func sandboxError(field string, err error) error {
	return &Error{Reason: ReasonSandbox, Field: field, Err: err}
}
