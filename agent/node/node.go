package node

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Node is this node in the API. Create it with New and call Run once.
type Node struct {
	cfg        Config
	wake       chan struct{} // something changed
	gone       chan struct{} // the object was deleted
	back       chan struct{} // the object is there (again)
	registered chan struct{} // closed, once, when the object was seen first
	once       sync.Once

	mu     sync.Mutex
	object *v1.Node // the newest seen; nil before the first. Never changed in place.

	// rival is the lease of another machine of this name: as it was last seen, and since when, on our clock.
	rival struct{ renewed, seen time.Time }

	// Of the status goroutine.
	slow       slowFacts
	where      whereabouts
	lastReport time.Time
	delay      time.Duration        // on top of ReportFrequency, so that nodes do not report all at once
	rebooted   bool                 // was told
	described  *trace.NodeDescribed // last told; nil before the first
}

// New checks the configuration. The API is not asked yet.
func New(cfg Config) (*Node, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.fill()
	return &Node{
		cfg: cfg, where: newWhereabouts(&cfg),
		wake: make(chan struct{}, 1), gone: make(chan struct{}, 1), back: make(chan struct{}, 1), registered: make(chan struct{}),
	}, nil
}

// Run keeps the node registered, its status and its lease until ctx ends. Errors of the API are waited out.
func (n *Node) Run(ctx context.Context) error {
	n.event(ctx, v1.EventTypeNormal, "Starting", "Starting kubelet.")
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.keepStatus(ctx) })
	group.Go(func() error { return n.keepLease(ctx) })
	group.Go(func() error { return n.watch(ctx) })
	return group.Wait()
}

// Changed says that something the status tells may have changed: it is looked at and written at once. It never blocks.
func (n *Node) Changed() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Registered is closed when the node's object was first seen in the API.
func (n *Node) Registered() <-chan struct{} { return n.registered }

// Object is the node's object as last seen in the API, or before that as it would be made. It must not be changed.
func (n *Node) Object() *v1.Node {
	if o := n.latest(); o != nil {
		return o
	}
	node := n.initial()
	capacity, allocatable := n.cfg.Resources()
	node.Status.Capacity, node.Status.Allocatable = capacity, allocatable
	return node
}

// Ready says whether the API shows the node as ready.
func (n *Node) Ready() bool {
	o := n.latest()
	if o == nil {
		return false
	}
	c := condition(&o.Status, v1.NodeReady)
	return c != nil && c.Status == v1.ConditionTrue
}

func (n *Node) latest() *v1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.object
}

// see takes over an object that the API returned or the watch told, unless a newer one is known.
func (n *Node) see(o *v1.Node) {
	n.mu.Lock()
	old := n.object
	if old != nil && olderThan(o.ResourceVersion, old.ResourceVersion) {
		n.mu.Unlock()
		return
	}
	n.object = o
	n.mu.Unlock()
	n.once.Do(func() { close(n.registered) })
	if old == nil {
		select {
		case n.back <- struct{}{}:
		default:
		}
	}
	n.cfg.Seen(o)
}

// forget drops the object: it is not there any more.
func (n *Node) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.object = nil
}

// olderThan compares resource versions, which are decimal numbers.
func olderThan(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func (n *Node) event(ctx context.Context, eventType, reason, message string) {
	if n.cfg.Events != nil {
		n.cfg.Events.Node(ctx, eventType, reason, message)
		return
	}
	trace.Point(n.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: eventType, Reason: reason, Message: message})
}

func (n *Node) log(ctx context.Context, level, message string, attrs ...trace.KV) {
	trace.Point(n.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: level, Message: message, Attrs: attrs})
}
