package image

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Handler returns the handler of a pod's RuntimeClass.
type Handler func(ctx context.Context, pod *v1.Pod) (string, error)

// ByHandler sends the handler of a pod's RuntimeClass with the names of images (feature gate RuntimeClassInImageCriApi).
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getPodRuntimeHandler.
type ByHandler struct {
	*Puller
	Handler Handler
}

// Ensure is Puller.Ensure. The request has a pod.
func (b ByHandler) Ensure(ctx context.Context, req Request) (Result, error) {
	var err error
	if req.RuntimeHandler, err = b.Handler(ctx, req.Pod); err != nil {
		return Result{}, err
	}
	return b.Puller.Ensure(ctx, req)
}
