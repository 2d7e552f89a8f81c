package events

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Publisher sends Kubernetes Events, which `kubectl describe` shows, and publishes each as a trace.NodeEvent. Other
// packages use a Recorder only through this interface. No method waits for the API server. The cause of an event is the
// span of ctx.
type Publisher interface {
	// Pod sends an event about a pod, or about the named container; "" means the pod itself. eventType is Normal or
	// Warning.
	Pod(ctx context.Context, pod *v1.Pod, container, eventType, reason, message string)
	// Quote is Pod for a message that quotes the output of a container; recorded is published instead.
	Quote(ctx context.Context, pod *v1.Pod, container, eventType, reason, message, recorded string)
	// Annotated is Pod for the pod itself, with annotations of the Event.
	Annotated(ctx context.Context, pod *v1.Pod, eventType, reason, message string, annotations map[string]string)
	// About sends an event about an object that a pod uses; see [ClaimRef] and [VolumeRef].
	About(ctx context.Context, pod *v1.Pod, object v1.ObjectReference, eventType, reason, message string)
	// Node sends an event about the node.
	Node(ctx context.Context, eventType, reason, message string)
}

var _ Publisher = (*Recorder)(nil)
