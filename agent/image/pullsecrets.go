package image

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/agent/events"
)

// SecretGetter gets Secrets; objcache.Objects implements it.
type SecretGetter interface {
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// PullSecrets returns the Secrets in the imagePullSecrets of pods. A nil *PullSecrets returns none: a standalone node has none.
type PullSecrets struct {
	secrets SecretGetter
	events  events.Publisher
}

// NewPullSecrets returns PullSecrets that gets Secrets from secrets.
func NewPullSecrets(secrets SecretGetter, ev events.Publisher) *PullSecrets {
	return &PullSecrets{secrets: secrets, events: ev}
}

// Of returns the pod's pull secrets. A missing one is skipped with an event, because the image may need none.
//
// Upstream: pkg/kubelet/kubelet_pods.go, getPullSecretsForPod.
func (s *PullSecrets) Of(ctx context.Context, pod *v1.Pod) ([]v1.Secret, error) {
	if s == nil {
		return nil, nil
	}
	var out []v1.Secret
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue
		}
		secret, err := s.secrets.Secret(ctx, pod.Namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err):
			s.events.Pod(ctx, pod, "", "Warning", "FailedToRetrieveImagePullSecret",
				"Unable to retrieve some image pull secrets ("+ref.Name+"); attempting to pull the image may not succeed.")
		case err != nil:
			return nil, err
		default:
			out = append(out, *secret)
		}
	}
	return out, nil
}
