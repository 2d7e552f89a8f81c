package semaphore

import "container/heap"

// waiter waits for a slot.
type waiter struct {
	turn   Turn
	seq    uint64 // order of arrival
	grants uint64 // number of grants at that time
	index  int    // in its class; -1 when it has a slot
	ready  chan struct{}
	place  *Place // set before ready is closed
}

// waiters is a heap of one class: by order, then by arrival.
type waiters []*waiter

func (q waiters) Len() int { return len(q) }
func (q waiters) Less(i, j int) bool {
	if q[i].turn.Order != q[j].turn.Order {
		return q[i].turn.Order < q[j].turn.Order
	}
	return q[i].seq < q[j].seq
}

func (q waiters) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *waiters) Push(x any) {
	if w, ok := x.(*waiter); ok {
		w.index = len(*q)
		*q = append(*q, w)
	}
}

// Pop implements heap.Interface.
func (q *waiters) Pop() any {
	old := *q
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	w.index = -1
	return w
}

// class is the state of a class that waits or works.
type class struct {
	queue waiters
	held  int
	last  uint64
}

// join adds a waiter to its class's queue.
func (s *Slots) join(w *waiter) {
	c := s.classes[w.turn.class()]
	if c == nil {
		c = &class{}
		s.classes[w.turn.class()] = c
	}
	heap.Push(&c.queue, w)
	if s.waiting == 0 {
		s.begun = s.grants
	}
	s.waiting++
}

// leave removes a waiter from its class's queue.
func (s *Slots) leave(w *waiter) {
	c := s.classes[w.turn.class()]
	heap.Remove(&c.queue, w.index)
	s.waiting--
	s.forget(w.turn.class())
}

// first removes the next waiter from the queues; nil if there is none that may start.
func (s *Slots) first() *waiter {
	var all []standing
	for name, c := range s.classes {
		if len(c.queue) > 0 && !s.full(name) {
			all = append(all, standing{name: name, held: c.held, last: c.last, seq: c.queue[0].seq})
		}
	}
	i := next(all, s.grants)
	if i < 0 {
		return nil
	}
	w := s.classes[all[i].name].queue[0]
	s.leave(w)
	return w
}

// forget removes the state of a class that neither waits nor works.
func (s *Slots) forget(name string) {
	if c := s.classes[name]; c != nil && c.held == 0 && len(c.queue) == 0 {
		delete(s.classes, name)
	}
}
