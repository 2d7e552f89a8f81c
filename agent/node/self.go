package node

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Self is the agent's knowledge of its own Node object. It is built before the Node, which fills it, so that the sources of the
// Node's status can report changes and get the object. On a standalone node it remains empty. Safe for concurrent use.
type Self struct {
	wake       chan struct{} // something changed
	registered chan struct{} // closed, once, when the object is first seen
	known      chan struct{} // closed, once, when the object is first known
	once       sync.Once
	knownOnce  sync.Once

	mu     sync.Mutex
	object *v1.Node // the newest one; nil before the first. Never changed in place.
	found  *v1.Node // the object as the API had it before the registration; nil if it had none. Never changed in place.
	// before returns the object as it would be registered, with what was found; nil before there is a Node.
	before func(found *v1.Node) *v1.Node
	fetch  func() error // gets the object from the API; nil before there is a Node
}

// NewSelf returns an empty Self, before there is a Node.
func NewSelf() *Self {
	return &Self{wake: make(chan struct{}, 1), registered: make(chan struct{}), known: make(chan struct{})}
}

// Changed reports that the node's status may have changed: it is checked and written immediately. It never blocks.
func (s *Self) Changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Registered is closed when the node's object is registered: created, or adopted.
func (s *Self) Registered() <-chan struct{} { return s.registered }

// Known is closed when the node's labels and taints in the API are known: at the latest when it is registered. If its object exists, that
// is earlier, and does not depend on the registration.
//
// Upstream: pkg/kubelet/kubelet.go, newNodeHasSyncedFunc.
func (s *Self) Known() <-chan struct{} { return s.known }

// Object returns the node's object as last seen in the API, or before that as it would be registered; an empty one before
// there is a Node. It must not be changed.
func (s *Self) Object() *v1.Node {
	s.mu.Lock()
	o, found, before := s.object, s.found, s.before
	s.mu.Unlock()
	switch {
	case o != nil:
		return o
	case before != nil:
		return before(found)
	}
	return &v1.Node{}
}

// Fresh gets the node's object from the API; nil if that fails or takes longer than 2 s. It must not be changed.
//
// Upstream: pkg/kubelet/kubelet_nodecache.go, getNodeSync.
func (s *Self) Fresh() *v1.Node {
	s.mu.Lock()
	fetch := s.fetch
	s.mu.Unlock()
	if fetch == nil || fetch() != nil {
		return nil
	}
	return s.Object()
}

// UID returns the object's UID; "" until it is in the API, and while it is being deleted.
func (s *Self) UID() types.UID {
	o := s.Object()
	if o.DeletionTimestamp != nil {
		return ""
	}
	return o.UID
}

// Labels returns the object's labels. They must not be changed.
func (s *Self) Labels() map[string]string { return s.Object().Labels }

// Addresses returns the addresses in the object's status.
func (s *Self) Addresses() []v1.NodeAddress { return s.Object().Status.Addresses }

// Ready reports whether the API shows the node as ready.
func (s *Self) Ready() bool {
	o := s.latest()
	if o == nil {
		return false
	}
	c := condition(&o.Status, v1.NodeReady)
	return c != nil && c.Status == v1.ConditionTrue
}

func (s *Self) latest() *v1.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.object
}

// see takes an object, unless a newer one is known or, if it is restored, in any case. It reports whether it did, and whether it is the first
// since the last forget.
func (s *Self) see(o *v1.Node, restored bool) (news, first bool) {
	s.mu.Lock()
	old := s.object
	if old != nil && !restored && olderThan(o.ResourceVersion, old.ResourceVersion) {
		s.mu.Unlock()
		return false, false
	}
	s.object = o
	s.mu.Unlock()
	s.once.Do(func() { close(s.registered) })
	s.knownOnce.Do(func() { close(s.known) })
	return true, old == nil
}

// find takes the object that is to be registered, as the API has it.
func (s *Self) find(o *v1.Node) {
	s.mu.Lock()
	s.found = o
	s.mu.Unlock()
	s.knownOnce.Do(func() { close(s.known) })
}

// forget drops the object, which no longer exists.
func (s *Self) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.object, s.found = nil, nil
}
