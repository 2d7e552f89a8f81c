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
	once       sync.Once

	mu     sync.Mutex
	object *v1.Node        // the newest one; nil before the first. Never changed in place.
	before func() *v1.Node // returns the object as it would be registered; nil before there is a Node
}

// NewSelf returns an empty Self, before there is a Node.
func NewSelf() *Self {
	return &Self{wake: make(chan struct{}, 1), registered: make(chan struct{})}
}

// Changed reports that the node's status may have changed: it is checked and written immediately. It never blocks.
func (s *Self) Changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Registered is closed when the node's object is first seen in the API.
func (s *Self) Registered() <-chan struct{} { return s.registered }

// Object returns the node's object as last seen in the API, or before that as it would be created; an empty one before
// there is a Node. It must not be changed.
func (s *Self) Object() *v1.Node {
	s.mu.Lock()
	o, before := s.object, s.before
	s.mu.Unlock()
	switch {
	case o != nil:
		return o
	case before != nil:
		return before()
	}
	return &v1.Node{}
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

func (s *Self) latest() *v1.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.object
}

// see takes an object unless a newer one is known. It reports whether it did, and whether it is the first since the
// last forget.
func (s *Self) see(o *v1.Node) (news, first bool) {
	s.mu.Lock()
	old := s.object
	if old != nil && olderThan(o.ResourceVersion, old.ResourceVersion) {
		s.mu.Unlock()
		return false, false
	}
	s.object = o
	s.mu.Unlock()
	s.once.Do(func() { close(s.registered) })
	return true, old == nil
}

// forget drops the object, which no longer exists.
func (s *Self) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.object = nil
}
