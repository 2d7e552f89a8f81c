package podruntime

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// say emits an event of the pod or one of its containers.
func (r *run) say(ctx context.Context, kind, reason, message, container string) {
	r.tell(ctx, r.pod, container, kind, reason, message)
}

// tell passes an event to Events, which sends it to the API server, or publishes it if there is none.
func (r *Runtime) tell(ctx context.Context, pod *v1.Pod, container, kind, reason, message string) {
	if r.cfg.Events != nil {
		r.cfg.Events.Pod(ctx, pod, container, kind, reason, message)
		return
	}
	ev := trace.NodeEvent{Type: trace.EventType(kind), Reason: reason, Message: message, Field: podspec.FieldPath(pod, container)}
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(pod)), ev)
}

// warnNode emits an event about the node.
func (r *Runtime) warnNode(ctx context.Context, reason, message string) {
	if r.cfg.Events != nil {
		r.cfg.Events.Node(ctx, "Warning", reason, message)
		return
	}
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), trace.Pod{}), trace.NodeEvent{Type: trace.EventWarning, Reason: reason, Message: message})
}

// withoutID replaces a container's ID in the message of an Event by its name, so that Events about each of its attempts count as one.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, recordContainerEvent.
func withoutID(message, id, name string) string {
	if id == "" {
		return message
	}
	return strings.ReplaceAll(message, id, name)
}
