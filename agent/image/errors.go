package image

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	crierrors "k8s.io/cri-api/pkg/errors"
)

// Reason says why an image is not available. It becomes the reason of the
// container's waiting state, which users and tools match on.
type Reason string

// The reasons. Upstream: pkg/kubelet/images/types.go and cri-api/pkg/errors.
const (
	ErrImagePull              Reason = "ErrImagePull"
	ImagePullBackOff          Reason = "ImagePullBackOff"
	ErrImageNeverPull         Reason = "ErrImageNeverPull"
	InvalidImageName          Reason = "InvalidImageName"
	ImageInspectError         Reason = "ImageInspectError"
	RegistryUnavailable       Reason = "RegistryUnavailable"
	SignatureValidationFailed Reason = "SignatureValidationFailed"
)

// Error says why an image is not available.
type Error struct {
	Reason Reason
	// Message is the text for the container's status.
	Message string
	// Err is the cause; nil if the reason is sufficient.
	Err error
	// RetryAt is when the next attempt may pull; zero without a back-off.
	RetryAt time.Time
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Reason, e.Message) }

func (e *Error) Unwrap() error { return e.Err }

// pullError returns a typed error for a failed pull.
//
// Upstream: pkg/kubelet/images/image_manager.go, evalCRIPullErr.
func pullError(image string, err error) *Error {
	// Runtimes distinguish these two only by the beginning of the message.
	desc := err.Error()
	if s, ok := status.FromError(err); ok {
		desc = s.Message()
	}
	if rest, ok := strings.CutPrefix(desc, crierrors.ErrRegistryUnavailable.Error()); ok {
		return &Error{
			Reason: RegistryUnavailable, Err: err,
			Message: fmt.Sprintf("image pull failed for %s because the registry is unavailable%s", image, rest),
		}
	}
	if rest, ok := strings.CutPrefix(desc, crierrors.ErrSignatureValidationFailed.Error()); ok {
		return &Error{
			Reason: SignatureValidationFailed, Err: err,
			Message: fmt.Sprintf("image pull failed for %s because the signature validation failed%s", image, rest),
		}
	}
	return &Error{Reason: ErrImagePull, Message: err.Error(), Err: err}
}
