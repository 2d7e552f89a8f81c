package podruntime

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// ensureImage makes sure that a container's image is on the node. It needs no sandbox, so both steps run concurrently.
func (r *run) ensureImage(ctx context.Context, s *Step) error {
	c := podspec.Container(r.pod, s.Container)
	var secrets []v1.Secret
	var missing []string
	if r.cfg.PullSecrets != nil && len(r.pod.Spec.ImagePullSecrets) > 0 {
		var err error
		if secrets, missing, err = r.cfg.PullSecrets.Of(ctx, r.pod); err != nil {
			return fmt.Errorf("pull secrets: %w", err)
		}
	}
	res, err := r.cfg.Images.Ensure(ctx, image.Request{
		PodUID: string(r.pod.UID), Pod: r.pod, Container: c.Name, Field: podspec.FieldPath(r.pod, c.Name), Image: c.Image, Policy: c.ImagePullPolicy,
		Annotations: r.pod.Annotations, PullSecrets: secrets,
	})
	if err != nil {
		r.tellSecrets(ctx, missing, err)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[s.ID] = res
	return nil
}

// tellSecrets emits the event about missing pull secrets once per run, because all containers have the same ones.
func (r *run) tellSecrets(ctx context.Context, missing []string, err error) {
	if len(missing) == 0 {
		return
	}
	r.secretsTold.Lock()
	defer r.secretsTold.Unlock()
	if !r.secretsTold.done {
		r.secretsTold.done = r.cfg.PullSecrets.Tell(ctx, r.pod, missing, err)
	}
}

// ephemeral returns an ephemeral container as a regular one.
func ephemeral(c *v1.EphemeralContainer) *v1.Container {
	return (*v1.Container)(&c.EphemeralContainerCommon)
}
