package image

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
)

// SecretGetter gets Secrets; objcache.Objects implements it.
type SecretGetter interface {
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// PullSecrets returns the Secrets in the imagePullSecrets of pods. A nil *PullSecrets returns none: a standalone node has none.
type PullSecrets struct {
	secrets SecretGetter
	events  events.Publisher
	bus     *trace.Bus
}

// NewPullSecrets returns PullSecrets that gets Secrets from secrets.
func NewPullSecrets(secrets SecretGetter, ev events.Publisher, bus *trace.Bus) *PullSecrets {
	return &PullSecrets{secrets: secrets, events: ev, bus: bus}
}

// Of returns the pod's pull secrets, and the names of those that could not be read: they are skipped, because the image may
// need none. Only the end of ctx is an error.
//
// Upstream: pkg/kubelet/kubelet_pods.go, getPullSecretsForPod.
func (s *PullSecrets) Of(ctx context.Context, pod *v1.Pod) (found []v1.Secret, missing []string, err error) {
	if s == nil {
		return nil, nil, nil
	}
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue
		}
		secret, err := s.secrets.Secret(ctx, pod.Namespace, ref.Name)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case err != nil:
			missing = append(missing, ref.Name)
			trace.Point(s.bus, trace.FromContext(ctx), trace.Log{
				Level: trace.LevelInfo, Message: "pull secret " + ref.Name + " is skipped, so the pull of an image may fail: " + err.Error(),
			})
		default:
			found = append(found, *secret)
		}
	}
	return found, missing, nil
}

// Tell emits an event with the names of the missing pull secrets if err says that a pull failed, which these may have caused. It reports
// whether it did.
//
// Upstream: pkg/kubelet/kubelet.go, SyncPod.
func (s *PullSecrets) Tell(ctx context.Context, pod *v1.Pod, missing []string, err error) bool {
	if e, ok := errors.AsType[*Error](err); s == nil || len(missing) == 0 || !ok || e.Reason != ErrImagePull {
		return false
	}
	s.events.Pod(ctx, pod, "", v1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
		"Unable to retrieve some image pull secrets ("+strings.Join(missing, ", ")+"); attempting to pull the image may not succeed.")
	return true
}
