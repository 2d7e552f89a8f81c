package trace

// Insert publishes what another program observed: a record with its own time, span, observer and duration. Its Seq is
// ignored; r is not kept: the event is copied and cut as usual. Observers report events after they happened, so the
// times of inserted records may go back: the records of such a bus are only approximately in order of time. Inserted
// records are not redacted by a [Scrubber].
func (b *Bus) Insert(r *Record) {
	if b == nil || r.Event == nil {
		return
	}
	k := kinds[r.Event.Kind()]
	own := *r
	own.Event = k.clone(r.Event)
	size := k.limit(own.Event, cut) + own.Pod.limit(cut)
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.next & uint64(len(b.slots)-1)
	slot := &b.slots[at]
	if b.next-b.first == uint64(len(b.slots)) {
		b.bytes -= int64(b.sizes[at])
		b.first++
	}
	b.retire(slot.Event)
	own.Seq = b.next
	*slot = own
	b.sizes[at] = uint32(size)
	b.bytes += int64(size)
	b.total += int64(size)
	b.next++
	if b.bytes > b.budget {
		b.evict()
	}
	b.wake()
}
