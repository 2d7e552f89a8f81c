package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Node is this node in the API. Create it with New and call Run once.
type Node struct {
	*Self
	cfg  Config
	gone chan struct{} // the object was deleted
	back chan struct{} // the object exists (again)
	// seeing orders the calls of Config.Seen: objects come from the watch and from responses.
	seeing   sync.Mutex
	ended    types.UID // of the object whose end the watch saw last; guarded by seeing
	cordoned bool      // as last reported by an Event; guarded by seeing

	// rival is the lease of another machine with this name: as last seen, and since when, by our clock.
	rival struct{ renewed, seen time.Time }

	// fetching serializes fetches; failed is when the last one did, the zero time if it did not.
	fetching sync.Mutex
	failed   time.Time

	// Used only by the status goroutine.
	slow       slowFacts
	listing    *listing // the request for the images that has no answer yet; nil for none
	where      whereabouts
	lastReport time.Time
	delay      time.Duration        // in addition to ReportFrequency, so that nodes do not report all at once
	rebooted   bool                 // was reported
	described  *trace.NodeDescribed // as last published; nil before the first time
}

// New checks the configuration. It does not call the API.
func New(cfg Config) (*Node, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.fill()
	n := &Node{Self: cfg.Self, cfg: cfg, where: newWhereabouts(&cfg), gone: make(chan struct{}, 1), back: make(chan struct{}, 1)}
	n.Self.mu.Lock()
	n.Self.before, n.Self.fetch = n.asRegistered, n.fetch
	n.Self.mu.Unlock()
	return n, nil
}

// Run keeps the node registered, and its status and its lease up to date, until ctx ends. It retries after errors of
// the API.
func (n *Node) Run(ctx context.Context) error {
	n.event(ctx, v1.EventTypeNormal, "Starting", "Starting kubelet.")
	if n.cfg.Started != nil {
		n.cfg.Started(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.keepStatus(ctx) })
	group.Go(func() error { return n.keepLease(ctx) })
	group.Go(func() error { return n.watch(ctx) })
	return group.Wait()
}

// asRegistered returns the object as it would be registered: created, or adopted if one was found. What the agent sets is this machine's: the
// found object may be from before a reboot.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, initialNode.
func (n *Node) asRegistered(found *v1.Node) *v1.Node {
	var node *v1.Node
	switch {
	case found == nil:
		node = n.initial()
	case n.cfg.NoRegister:
		node = found.DeepCopy()
	default:
		node = n.reconcile(found)
	}
	if !n.cfg.ExternalCloud {
		node.Status.Addresses = nil
	}
	node.Status.Capacity, node.Status.Allocatable = n.cfg.Resources()
	if f := n.cfg.Runtime().Features; f != nil {
		node.Status.Features = f
	}
	return node
}

// A fetch is limited, because the sync loop waits for it: also if the API does not respond and many pods need one.
const (
	fetchTimeout = 2 * time.Second
	fetchPause   = 10 * time.Second // after one that failed
)

// fetch gets the object from the API.
func (n *Node) fetch() error {
	n.fetching.Lock()
	defer n.fetching.Unlock()
	if !n.failed.IsZero() && time.Since(n.failed) < fetchPause {
		return errors.New("the API did not respond a moment ago")
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	o, err := n.cfg.Heartbeat.CoreV1().Nodes().Get(ctx, n.cfg.Name, metav1.GetOptions{})
	if err != nil {
		n.failed = time.Now()
		return err
	}
	n.failed = time.Time{}
	switch {
	case n.latest() != nil:
		n.see(o)
	case !n.anothers(o):
		n.find(o)
	}
	return nil
}

func (n *Node) event(ctx context.Context, eventType, reason, message string) {
	if n.cfg.Events != nil {
		n.cfg.Events.Node(ctx, eventType, reason, message)
		return
	}
	trace.Point(n.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: trace.EventType(eventType), Reason: reason, Message: message})
}

func (n *Node) log(ctx context.Context, level trace.LogLevel, message string, attrs ...trace.KV) {
	trace.Point(n.cfg.Bus, trace.FromContext(ctx), trace.Log{Level: level, Message: message, Attrs: attrs})
}
