package image

import (
	"context"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Volumes pulls the images of image volumes, as a Puller pulls those of containers.
type Volumes struct {
	Images  *Puller
	Secrets *PullSecrets // nil if there are none
	// Handler returns the handler of a pod's RuntimeClass; nil without the feature gate RuntimeClassInImageCriApi.
	Handler Handler
}

// Ensure makes sure that the image of a volume is on the node, and returns the reference for the runtime's mount. Its errors are
// Puller.Ensure's.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, getImageVolumes.
func (v Volumes) Ensure(ctx context.Context, pod *v1.Pod, src *v1.ImageVolumeSource) (*runtimeapi.ImageSpec, error) {
	secrets, missing, err := v.Secrets.Of(ctx, pod)
	if err != nil {
		return nil, err
	}
	req := Request{
		PodUID: string(pod.UID), Pod: pod, Image: src.Reference, Policy: src.PullPolicy, Annotations: pod.Annotations, PullSecrets: secrets,
	}
	if v.Handler != nil {
		if req.RuntimeHandler, err = v.Handler(ctx, pod); err != nil {
			return nil, err
		}
	}
	res, err := v.Images.Ensure(ctx, req)
	if err != nil {
		v.Secrets.Tell(ctx, pod, missing, err)
		return nil, err
	}
	return &runtimeapi.ImageSpec{
		Image: res.Ref, UserSpecifiedImage: src.Reference, Annotations: pod.Annotations, RuntimeHandler: req.RuntimeHandler,
	}, nil
}
