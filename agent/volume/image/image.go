// Package image is the volume plugin kubernetes.io/image: the content of an image, mounted by the runtime.
//
// It makes sure that the image is on the node before a container is created. The runtime creates the mount, and a
// subPath in it: the pod's directory has no entry for the volume. An image that is
// not available is a volume.MissingError. It runs no goroutine and publishes no event; the puller does.
//
// Upstream: pkg/volume/image, pkg/kubelet/kuberuntime/kuberuntime_manager.go, getImageVolumes.
package image

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Name is the plugin's name.
const Name = "kubernetes.io/image"

// Ensure makes sure that an image is on the node and returns the reference for the runtime.
type Ensure func(ctx context.Context, pod *v1.Pod, src *v1.ImageVolumeSource) (*runtimeapi.ImageSpec, error)

// Plugin is the plugin.
type Plugin struct{ ensure Ensure }

// New returns the plugin.
func New(ensure Ensure) (*Plugin, error) {
	if ensure == nil {
		return nil, errors.New("image volumes: ensure is missing")
	}
	return &Plugin{ensure}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.Image != nil }

// Version implements volume.Plugin: the image's name, which may be changed.
func (*Plugin) Version(s volume.Spec) (string, error) {
	if s.Volume.Image.Reference == "" {
		return "", errors.New("image.reference must not be empty")
	}
	return string(s.Volume.Image.PullPolicy) + " " + s.Volume.Image.Reference, nil
}

// SetUp implements volume.Plugin. A pull takes no slot of the volume operations. If it fails, only the containers that
// mount the volume fail.
func (p *Plugin) SetUp(ctx context.Context, s volume.Spec) (criconfig.Volume, error) {
	var spec *runtimeapi.ImageSpec
	err := volume.Idle(ctx, func() (err error) {
		spec, err = p.ensure(ctx, s.Pod, s.Volume.Image)
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = &volume.MissingError{Err: err}
	}
	if err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{Image: spec, ReadOnly: true}, nil
}

// TearDown implements volume.Plugin: only the image is on the node, so it does nothing.
func (*Plugin) TearDown(context.Context, volume.Place) error { return nil }
