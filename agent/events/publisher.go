package events

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Publisher makes Kubernetes Events, which `kubectl describe` shows, and publishes each as a trace.NodeEvent. It is how every
// other package reaches a Recorder. No method waits for the API server. The cause of an event is the span of ctx.
type Publisher interface {
	// Pod makes an event about a pod, or about the container of it that is named; "" is the pod itself. eventType is Normal or Warning.
	Pod(ctx context.Context, pod *v1.Pod, container, eventType, reason, message string)
	// Quote is Pod for a message that quotes the output of a container; recorded is published in its place.
	Quote(ctx context.Context, pod *v1.Pod, container, eventType, reason, message, recorded string)
	// Node makes an event about the node.
	Node(ctx context.Context, eventType, reason, message string)
}

var _ Publisher = (*Recorder)(nil)
