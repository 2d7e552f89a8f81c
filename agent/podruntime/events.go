package podruntime

import (
	"context"

	"github.com/kubeloupe/kubeloupe/trace"
)

// say publishes a Kubernetes event about the pod or one of its containers.
func (r *run) say(ctx context.Context, kind, reason, message, container string) {
	ev := trace.NodeEvent{Type: kind, Reason: reason, Message: message}
	if container != "" {
		ev.Field = r.fieldOf(container)
	}
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), r.ref), ev)
}

// fieldOf is a container's place in the pod's spec.
func (r *run) fieldOf(container string) string {
	for i := range r.pod.Spec.InitContainers {
		if r.pod.Spec.InitContainers[i].Name == container {
			return "spec.initContainers{" + container + "}"
		}
	}
	return "spec.containers{" + container + "}"
}

func (r *run) warn(reason, message string) {
	r.say(context.Background(), "Warning", reason, message, "")
}
