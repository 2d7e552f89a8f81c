package podruntime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// handler returns the runtime handler of the pod's RuntimeClass, "" for the runtime's default.
func (r *run) handler(ctx context.Context) (string, error) {
	if r.cfg.RuntimeHandler == nil {
		return "", nil
	}
	h, err := r.cfg.RuntimeHandler(ctx, r.pod)
	if err != nil {
		return "", fmt.Errorf("runtime class of %s: %w", r.ref, err)
	}
	return h, nil
}

// features returns what the pod's runtime handler can do, with its name.
func (r *run) features(ctx context.Context) (name string, f *runtimeapi.RuntimeHandlerFeatures, err error) {
	if name, err = r.handler(ctx); err == nil {
		f, err = r.cfg.HandlerFeatures(name)
	}
	return name, f, err
}

// canUserNS returns an error if the pod wants a user namespace and its runtime handler has none. Such a runtime may ignore the mapping, and run
// the pod's root as the node's.
//
// Upstream: pkg/kubelet/userns/userns_manager.go, GetOrCreateUserNamespaceMappings.
func (r *run) canUserNS(ctx context.Context) error {
	if r.pod.Spec.HostUsers == nil || *r.pod.Spec.HostUsers || r.cfg.HandlerFeatures == nil {
		return nil
	}
	name, f, err := r.features(ctx)
	if err == nil && f.GetUserNamespaces() {
		return nil
	}
	cannot := errors.New("can't set `spec.hostUsers: false`, runtime does not support user namespaces")
	if name != "" {
		cannot = fmt.Errorf("can't set `spec.hostUsers: false`, RuntimeClass handler %q does not support user namespaces", name)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cannot, err)
	}
	return cannot
}

// node is what a container's config needs to know of the node, with what the pod's runtime handler can do. A handler that is not known cannot
// mount recursively read-only.
//
// Upstream: pkg/kubelet/kubelet_pods.go, runtimeClassSupportsRecursiveReadOnlyMounts.
func (r *run) node(ctx context.Context, c *v1.Container) criconfig.Node {
	n := r.cfg.Node
	asks := slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.RecursiveReadOnly != nil })
	if asks && r.cfg.HandlerFeatures != nil {
		_, f, err := r.features(ctx)
		n.RecursiveReadOnly = err == nil && f.GetRecursiveReadOnlyMounts()
	}
	return n
}
