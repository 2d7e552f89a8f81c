package trace

import (
	"context"
	"errors"
	"slices"
	"time"
)

// ErrClosed is returned by a cursor that was closed.
var ErrClosed = errors.New("trace: cursor is closed")

// From says where a new cursor starts.
type From uint8

// Where a cursor starts.
const (
	FromNow    From = iota // only records published later
	FromOldest             // all that the ring still holds
)

// copyStep limits how many records are copied while mu is held, so that a reader of a large batch blocks a publisher
// for at most a few microseconds.
const copyStep = 32

// Cursor is one reader's position in the ring. It is for one goroutine; different cursors are independent.
type Cursor struct {
	bus     *Bus
	pos     uint64 // next sequence number to read
	seen    int64  // size of all records before pos; guarded by bus.mu
	signal  chan struct{}
	end     chan struct{}
	waiting bool          // guarded by bus.mu
	closed  bool          // guarded by bus.mu
	slack   uint64        // maximum number of unread records before a wake; guarded by bus.mu
	room    int64         // maximum size of unread records before a wake, if slack is not 0; guarded by bus.mu
	hurried bool          // until everything is read; guarded by bus.mu
	done    uint64        // the reader is done with all records before it; guarded by bus.mu
	settled chan struct{} // is closed when done grows; nil if nobody waits; guarded by bus.mu
}

// batchShare is the approximate part of a bus's memory budget that a reader gets at once, because a reader keeps its
// batch in memory.
const batchShare = 8

// lazyShare is the part of a ring that a lazy reader leaves unread: it then has most of the ring as a reserve.
const lazyShare = 8

// Subscribe returns a cursor. Close it when done. On a nil bus the cursor
// never yields a record.
func (b *Bus) Subscribe(from From) *Cursor {
	c := &Cursor{bus: b, signal: make(chan struct{}, 1), end: make(chan struct{})}
	if b == nil {
		return c
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.pos, c.seen = b.next, b.total
	if from == FromOldest {
		c.pos, c.seen = b.first, b.total-b.bytes
	}
	b.cursors = append(b.cursors, c)
	return c
}

// Close ends the cursor and wakes its reader. It can be called more than once.
func (c *Cursor) Close() {
	if c.bus == nil {
		return
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.end)
	c.bus.cursors = slices.DeleteFunc(c.bus.cursors, func(o *Cursor) bool { return o == c })
}

// Next waits for at least one record and appends up to cap(buf) records to buf[:0] (64 if buf has no capacity), fewer
// if they are large. lost is the exact number of records that were overwritten since the last call before this reader
// got them. It returns ctx's error or ErrClosed if there is nothing more to wait for.
func (c *Cursor) Next(ctx context.Context, buf []Record) (recs []Record, lost uint64, err error) {
	if cap(buf) == 0 {
		buf = make([]Record, 0, 64)
	}
	for {
		if c.ready() || ctx.Err() != nil {
			if recs, lost = c.Poll(buf); len(recs) > 0 {
				return recs, lost, nil
			}
		}
		select {
		case <-c.signal:
		case <-c.end:
			return nil, 0, ErrClosed
		case <-ctx.Done(): // existing records first
			if recs, lost = c.Poll(buf); len(recs) > 0 {
				return recs, lost, nil
			}
			return nil, 0, ctx.Err()
		}
	}
}

// Wait waits until Next would return a record, and takes none. It returns ctx's error or ErrClosed if there is nothing to wait for.
func (c *Cursor) Wait(ctx context.Context) error {
	for !c.ready() {
		select {
		case <-c.signal:
		case <-c.end:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// Rest waits for d, but not longer than until an eighth of the ring is unread, as in Batch, ctx ends or the cursor is closed. It is for readers
// that want to get the records of this time together.
func (c *Cursor) Rest(ctx context.Context, d time.Duration) {
	if c.bus == nil {
		return
	}
	slack, room := c.lazy(c.share())
	defer c.lazy(slack, room)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_ = c.Wait(ctx) // whatever ends it
}

// share is how much a lazy reader leaves unread.
func (c *Cursor) share() (slack uint64, room int64) {
	return uint64(len(c.bus.slots)) / lazyShare, c.bus.budget / lazyShare
}

// lazy sets how much may be unread before the reader is woken, and returns what it was.
func (c *Cursor) lazy(slack uint64, room int64) (oldSlack uint64, oldRoom int64) {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	oldSlack, oldRoom = c.slack, c.room
	c.slack, c.room = slack, room
	return oldSlack, oldRoom
}

// Poll is Next without waiting: it returns the available records, which may be none.
func (c *Cursor) Poll(buf []Record) (recs []Record, lost uint64) {
	recs = buf[:0]
	if c.bus == nil {
		return recs, 0
	}
	for room := c.bus.budget/batchShare + 1; len(recs) < cap(buf) && room > 0; {
		n, size, l := c.copySome(&recs, min(copyStep, cap(buf)-len(recs)))
		lost += l
		room -= size
		if n < copyStep {
			break
		}
	}
	return recs, lost
}

// copySome copies at most limit records of at most size bytes while it holds mu.
func (c *Cursor) copySome(dst *[]Record, limit int) (n int, size int64, lost uint64) {
	b := c.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.pos < b.first {
		lost = b.first - c.pos
		c.pos, c.seen = b.first, b.total-b.bytes
	}
	for n < limit && c.pos < b.next {
		at := c.pos & uint64(len(b.slots)-1)
		r := b.slots[at]
		r.Event = kinds[r.Event.Kind()].clone(r.Event)
		*dst = append(*dst, r)
		size += int64(b.sizes[at])
		c.pos++
		n++
	}
	c.seen += size
	if c.waiting = c.pos >= b.next; c.waiting {
		c.hurried = false
	}
	return n, size, lost
}

// Batch makes Next sleep until an eighth of the ring (of its records or its bytes) is unread, Flush is called or its
// context ends; it then returns everything. It is for readers whose data may never be requested: an idle agent does not
// wake them.
func (c *Cursor) Batch() {
	if c.bus == nil {
		return
	}
	c.lazy(c.share())
}

// Flush makes Next return everything that was published so far, even if the cursor is lazy. Safe for concurrent use.
func (c *Cursor) Flush() {
	if c.bus == nil {
		return
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	c.hurry()
}

// Settle makes the reader read everything that was published so far, even if the cursor is lazy, and waits until it is done with that:
// until it calls Next or Wait again. It returns ctx's error, or ErrClosed if the cursor was closed. Safe for concurrent use.
func (c *Cursor) Settle(ctx context.Context) error {
	if c.bus == nil {
		return nil
	}
	for last := c.bus.Seq(); ; {
		settled, err := c.settle(last)
		if settled == nil || err != nil {
			return err
		}
		select {
		case <-settled:
		case <-c.end:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settle returns nil if the reader is done with the record last, or else a channel that is closed when it is done with more.
func (c *Cursor) settle(last uint64) (<-chan struct{}, error) {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	switch {
	case c.done > last:
		return nil, nil
	case c.closed:
		return nil, ErrClosed
	}
	if c.settled == nil {
		c.settled = make(chan struct{})
	}
	c.hurry()
	return c.settled, nil
}

// hurry makes Next return all that is unread. Called with bus.mu.
func (c *Cursor) hurry() {
	if c.pos >= c.bus.next {
		return // everything is read
	}
	c.hurried = true
	if c.waiting {
		c.rouse()
	}
}

// ready reports whether Next should read; if not, the cursor waits to be woken. When Next has begun to read, it reads
// everything.
func (c *Cursor) ready() bool {
	if c.bus == nil {
		return true
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	c.done = c.pos
	if c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
	if c.due() {
		c.hurried = true
		return true
	}
	c.waiting = true
	return false
}

// due reports whether Next must read now. Called with bus.mu.
func (c *Cursor) due() bool {
	unread := c.bus.next - c.pos
	return c.hurried || unread > c.slack || unread > 0 && c.bus.total-c.seen > c.room
}

// rouse wakes the reader. Called with bus.mu.
func (c *Cursor) rouse() {
	c.waiting = false
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// Behind returns how many records this reader has not read.
func (c *Cursor) Behind() uint64 {
	if c.bus == nil {
		return 0
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	return c.bus.next - c.pos
}
