package podruntime

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// takeDevices adds what device plugins give to a container.
func (r *run) takeDevices(ctx context.Context, c *v1.Container, in *criconfig.ContainerInput) error {
	if r.cfg.Devices == nil {
		return nil
	}
	given, err := r.cfg.Devices.Container(ctx, r.pod, c)
	if err != nil {
		return deviceError(c.Name, err)
	}
	in.Take(given)
	return nil
}

// preStart tells device plugins that a container is about to be created. No slot for the runtime is held while a plugin takes long.
func (r *run) preStart(ctx context.Context, s *Step) error {
	if r.cfg.Devices == nil {
		return nil
	}
	if err := r.cfg.Devices.PreStart(ctx, r.pod, podspec.Container(r.pod, s.Container)); err != nil {
		return deviceError(s.Container, err)
	}
	return nil
}

func deviceError(container string, err error) error {
	return &criconfig.Error{Reason: criconfig.ReasonContainerConfig, Container: container, Field: "resources.limits", Err: err}
}
