package trace

import "unsafe"

// pointerTo connects an event type with its pointer, which implements Event.
type pointerTo[E any] interface {
	*E
	Event
	limit(limiter) int
}

// Point publishes an event without duration, caused by parent. It returns the point's span, for the events that it
// causes.
func Point[E any, P pointerTo[E]](b *Bus, parent Span, e E) Span {
	if b == nil {
		return parent
	}
	s := child(parent)
	publish[E, P](b, EdgePoint, &s, &e)
	return s
}

// Begin publishes the start of something and returns its span, for End and for everything that it causes. On a nil bus
// it returns parent.
func Begin[E any, P pointerTo[E]](b *Bus, parent Span, e E) Span {
	if b == nil {
		return parent
	}
	s := child(parent)
	s.start = publish[E, P](b, EdgeBegin, &s, &e) + 1
	return s
}

// End publishes the end of what Begin began, with the event's final fields.
func End[E any, P pointerTo[E]](b *Bus, s Span, e E) {
	if b == nil {
		return
	}
	publish[E, P](b, EdgeEnd, &s, &e)
}

// PublishSpan publishes a point with an existing identity, such as another program's own span.
func PublishSpan[E any, P pointerTo[E]](b *Bus, s Span, e E) {
	if b == nil {
		return
	}
	publish[E, P](b, EdgePoint, &s, &e)
}

func child(parent Span) Span {
	s := Span{Trace: parent.Trace, ID: NewSpanID(), Parent: parent.ID, Pod: parent.Pod, Observer: parent.Observer, Precision: parent.Precision}
	if s.Trace.IsZero() {
		s.Trace = NewTraceID()
	}
	return s
}

// publish copies e into the box of the oldest slot, cut to an event's maximum size. Boxes are recycled per event type,
// so a warm ring allocates nothing; readers copy with mu held. The clock is read with mu held too, so that times are in
// the order of sequence numbers. Events are large: s and e are not kept, so that callers need not allocate them on the
// heap.
func publish[E any, P pointerTo[E]](b *Bus, edge Edge, s *Span, e *E) (elapsed int64) {
	if blank := b.scrub.Load(); blank != nil && len(textsOf[P(nil).Kind()]) > 0 {
		own := scrubbed[E, P](*blank, s.Pod, *e)
		e = &own
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return put[E, P](b, edge, s, e)
}

// put is publish with mu held. It returns the monotonic time since the bus's creation.
func put[E any, P pointerTo[E]](b *Bus, edge Edge, s *Span, e *E) (elapsed int64) {
	elapsed = b.elapsed()
	at := b.next & uint64(len(b.slots)-1)
	slot := &b.slots[at]
	if b.next-b.first == uint64(len(b.slots)) {
		b.bytes -= int64(b.sizes[at])
		b.first++
	}
	box, ok := slot.Event.(P)
	if !ok {
		b.retire(slot.Event)
		box = take[E, P](b)
		slot.Event = box
	}
	*box = *e
	slot.Seq = b.next
	slot.Time = b.epoch + elapsed
	slot.Edge = edge
	slot.Observer, slot.Precision = s.Observer, s.Precision
	slot.Dur = 0
	if edge == EdgeEnd && s.start != 0 { // 0: it did not begin on this bus
		slot.Dur = durationOf(elapsed + 1 - s.start)
	}
	slot.Trace = s.Trace
	slot.Span = s.ID
	slot.Parent = s.Parent
	slot.Pod = s.Pod
	size := int(unsafe.Sizeof(*e)) + box.limit(cut) + slot.Pod.limit(cut)
	b.sizes[at] = uint32(size)
	b.bytes += int64(size)
	b.total += int64(size)
	b.next++
	if b.bytes > b.budget {
		b.evict()
	}
	b.wake()
	return elapsed
}

// evict drops the oldest records until the others are within the budget, but keeps the newest one.
func (b *Bus) evict() {
	for b.bytes > b.budget && b.first < b.next-1 {
		at := b.first & uint64(len(b.slots)-1)
		slot := &b.slots[at]
		b.retire(slot.Event)
		*slot = Record{}
		b.bytes -= int64(b.sizes[at])
		b.sizes[at] = 0
		b.first++
	}
}

// spareShare is the part of a ring that is kept as spare boxes of one type.
const spareShare = 16

// retire keeps a box, cleared, for the next event of its type, unless there are many.
func (b *Bus) retire(box Event) {
	if box == nil {
		return
	}
	k := box.Kind()
	if len(b.spare[k]) > len(b.slots)/spareShare {
		return
	}
	kinds[k].reset(box)
	b.spare[k] = append(b.spare[k], box)
}

func take[E any, P pointerTo[E]](b *Bus) P {
	spare := &b.spare[P(nil).Kind()]
	if n := len(*spare); n > 0 {
		box, ok := (*spare)[n-1].(P)
		(*spare)[n-1] = nil
		*spare = (*spare)[:n-1]
		if ok {
			return box
		}
	}
	return P(new(E))
}
