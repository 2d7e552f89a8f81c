package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// queueLength is how many events may wait for the API server, and how many warnings.
// Upstream: client-go tools/record, maxQueuedEvents.
const queueLength = 1000

// Config is what a Recorder needs.
type Config struct {
	// Client writes events; nil without an API server (standalone): then events are only published.
	Client kubeapi.EventsGetter
	// Node is the node's name.
	Node string
	// NodeUID returns the UID of the node's API object, "" while it is unknown; may be nil.
	NodeUID func() types.UID
	// QPS and Burst limit the events that are sent (eventRecordQPS, eventBurst); QPS 0 means no limit here, for example if the
	// client has its own limit.
	QPS   float32
	Burst int
	// Busy reports whether pods wait for the runtime, Working whether the runtime works on one: then normal events wait, each for a limited
	// time. May be nil.
	Busy, Working func() bool
	// Bus may be nil.
	Bus *trace.Bus
	// Secrets are redacted in the messages; may be nil.
	Secrets *redact.Vault
	// Withheld reports whether the output of a pod's container may contain secrets that this agent does not know, so
	// that it is not quoted; nil means never.
	Withheld func(p *v1.Pod, container string) bool
}

// Recorder records events. Safe for concurrent use.
type Recorder struct {
	cfg Config
	// queue has the normal events, warnings the others, which never wait for a busy node.
	queue, warnings chan *v1.Event
	dropped         atomic.Int64
	limit           *rate.Limiter
	busyAt          time.Time // when pods waited for the runtime, as last seen; of Run

	correlate *record.EventCorrelator // has its own lock
}

// New returns a recorder that sends nothing before Run.
func New(c Config) (*Recorder, error) {
	switch {
	case c.Node == "":
		return nil, errors.New("events: the node's name is empty")
	case c.QPS < 0:
		return nil, fmt.Errorf("events: eventRecordQPS is %v: want 0 (no limit) or more", c.QPS)
	case c.Burst < 0:
		return nil, fmt.Errorf("events: eventBurst is %d: want 0 or more", c.Burst)
	}
	r := &Recorder{cfg: c, queue: make(chan *v1.Event, queueLength), warnings: make(chan *v1.Event, queueLength), limit: rate.NewLimiter(rate.Inf, 0)}
	if c.QPS > 0 {
		r.limit = rate.NewLimiter(rate.Limit(c.QPS), max(c.Burst, 1))
	}
	r.correlate = record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{LRUCacheSize: 512})
	return r, nil
}

// Pod records an event about a pod, or about a container of it if one is named. Its cause is the span of ctx. The pod
// is not kept or changed.
func (r *Recorder) Pod(ctx context.Context, p *v1.Pod, container, eventType, reason, message string) {
	r.Quote(ctx, p, container, eventType, reason, message, message)
}

// Quote is Pod with a message that quotes the output of a program in a container. As in the kubelet, the quotation is
// sent to the API; it is not published. recorded is the message without the quotation. It replaces both messages if the
// container may print secrets that the agent does not know.
func (r *Recorder) Quote(ctx context.Context, p *v1.Pod, container, eventType, reason, message, recorded string) {
	field := podspec.FieldPath(p, container)
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(p)),
		trace.NodeEvent{Type: trace.EventType(eventType), Reason: reason, Message: recorded, Field: field})
	if r.cfg.Client == nil {
		return
	}
	if r.cfg.Withheld != nil && r.cfg.Withheld(p, container) {
		message = recorded
	}
	message = r.cfg.Secrets.Text(string(p.UID), message)
	// A static pod is identified by its own UID: kubectl finds its events by the hash in its mirror pod's annotation.
	r.enqueue(r.event(podRef(p, field), eventType, reason, message))
}

// Annotated records an event about a pod with annotations, which are not published.
func (r *Recorder) Annotated(ctx context.Context, p *v1.Pod, eventType, reason, message string, annotations map[string]string) {
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(p)), trace.NodeEvent{Type: trace.EventType(eventType), Reason: reason, Message: message})
	if r.cfg.Client == nil {
		return
	}
	e := r.event(podRef(p, ""), eventType, reason, r.cfg.Secrets.Text(string(p.UID), message))
	e.Annotations = annotations
	r.enqueue(e)
}

// About records an event about another object than a pod, in the object's namespace. It is published as one of the pod that uses the object.
func (r *Recorder) About(ctx context.Context, p *v1.Pod, object v1.ObjectReference, eventType, reason, message string) {
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), podspec.Ref(p)), trace.NodeEvent{
		Type: trace.EventType(eventType), Reason: reason, Message: message, Object: strings.ToLower(object.Kind) + "/" + object.Name,
	})
	if r.cfg.Client != nil {
		r.enqueue(r.event(object, eventType, reason, r.cfg.Secrets.Text(string(p.UID), message)))
	}
}

// Node records an event about the node.
// Upstream: pkg/kubelet/kubelet_node_status.go, recordEvent.
func (r *Recorder) Node(ctx context.Context, eventType, reason, message string) {
	trace.Point(r.cfg.Bus, trace.ForPod(trace.FromContext(ctx), trace.Pod{}),
		trace.NodeEvent{Type: trace.EventType(eventType), Reason: reason, Message: message})
	if r.cfg.Client == nil {
		return
	}
	message = r.cfg.Secrets.Text(redact.Node, message)
	ref := v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: r.cfg.Node}
	if r.cfg.NodeUID != nil {
		ref.UID = r.cfg.NodeUID()
	}
	r.enqueue(r.event(ref, eventType, reason, message))
}

// enqueue passes an event to Run, or counts it as dropped.
func (r *Recorder) enqueue(e *v1.Event) {
	queue := r.warnings
	if e.Type == v1.EventTypeNormal {
		queue = r.queue
	}
	select {
	case queue <- e:
	default:
		r.dropped.Add(1)
	}
}
