package trace

import (
	"sync"
	"sync/atomic"
	"time"
)

// DefaultCapacity is how many records a bus keeps unless told otherwise.
const DefaultCapacity = 8192

// Bus is one ring of records shared by all readers. A nil *Bus drops
// everything, so a component need not ask whether anyone looks.
type Bus struct {
	start time.Time // carries the monotonic reading
	epoch int64     // start in Unix nanoseconds

	scrub atomic.Pointer[Scrubber] // nil: nothing is blanked

	mu      sync.Mutex
	slots   []Record
	next    uint64 // sequence number of the next record; the first is 1
	spare   [kindCount][]Event
	cursors []*Cursor
}

// NewBus returns a bus that keeps the last capacity records (rounded up to a
// power of two; 0 means DefaultCapacity).
func NewBus(capacity int) *Bus {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	size := 1
	for size < capacity {
		size *= 2
	}
	now := time.Now()
	return &Bus{start: now, epoch: now.UnixNano(), slots: make([]Record, size), next: 1}
}

// now is the bus's clock in Unix nanoseconds: wall time at birth plus the
// monotonic time since.
func (b *Bus) now() int64 { return b.epoch + int64(time.Since(b.start)) }

// Seq returns the sequence number of the newest record; 0 before the first.
func (b *Bus) Seq() uint64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next - 1
}

// oldest returns the sequence number of the oldest record still kept.
func (b *Bus) oldest() uint64 {
	if size := uint64(len(b.slots)); b.next > size {
		return b.next - size
	}
	return 1
}

// wake tells waiting cursors that there is something to read. Called with mu.
func (b *Bus) wake() {
	for _, c := range b.cursors {
		if c.waiting && c.due() {
			c.rouse()
		}
	}
}
