package trace

import (
	"sync"
	"sync/atomic"
	"time"
)

// DefaultCapacity is how many records a bus keeps by default.
const DefaultCapacity = 8192

// The default memory budget of a bus's records: enough for all of them at a size that few records of an ordinary node
// exceed, and for at least some dozen of the largest (MaxEvent and twice MaxBody).
const (
	bytesPerRecord = 8 << 10
	leastBytes     = 4 << 20
)

// Bus is one ring of records shared by all readers. A nil *Bus drops everything, so components need not check whether
// anyone reads.
type Bus struct {
	start time.Time // has the monotonic reading
	clock func() (wall, elapsed int64)

	scrub atomic.Pointer[Scrubber] // nil: nothing is redacted

	mu      sync.Mutex
	epoch   int64 // the creation of the bus in Unix nanoseconds, by the current wall clock, unless that was set back
	ahead   int64 // by how much times are ahead of the wall clock, which was set back
	slots   []Record
	sizes   []uint32 // size of the record in each slot
	next    uint64   // sequence number of the next record; the first is 1
	first   uint64   // sequence number of the oldest kept record; next if there is none
	bytes   int64    // size of all kept records
	total   int64    // size of all records that were ever published
	budget  int64    // maximum of bytes, unless one record is larger
	spare   [kindCount][]Event
	cursors []*Cursor
}

// NewBus returns a bus that keeps the last capacity records (rounded up to a power of two; 0 means DefaultCapacity),
// and fewer if they need more than DefaultBytes.
func NewBus(capacity int) *Bus { return NewBusOf(capacity, 0) }

// NewBusOf is NewBus with a memory budget in bytes (0 means DefaultBytes of the capacity). The newest record is always
// kept, whatever its size.
func NewBusOf(capacity int, budget int64) *Bus {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	if budget <= 0 {
		budget = DefaultBytes(capacity)
	}
	size := 1
	for size < capacity {
		size *= 2
	}
	now := time.Now()
	return &Bus{start: now, epoch: now.UnixNano(), slots: make([]Record, size), sizes: make([]uint32, size), next: 1, first: 1, budget: budget}
}

// DefaultBytes returns the default memory budget for capacity records: 8 KiB for each, and at least 4 MiB.
func DefaultBytes(capacity int) int64 { return max(int64(capacity)*bytesPerRecord, leastBytes) }

// elapsed returns the monotonic time since the bus's creation. With the epoch, it is the bus's clock in Unix
// nanoseconds.
func (b *Bus) elapsed() int64 {
	if b.clock != nil {
		_, elapsed := b.clock()
		return elapsed
	}
	return int64(time.Since(b.start))
}

// leastStep is the minimum step of the wall clock: smaller differences occur because clocks are read one after the
// other.
const leastStep = int64(time.Second)

// Anchor aligns the times of records with the wall clock, which may have been set since, and publishes a ClockStepped
// if so. Call it when the kernel reports that the clock was set, or periodically.
func (b *Bus) Anchor() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	wall, elapsed := now.Round(0).UnixNano(), int64(now.Sub(b.start))
	if b.clock != nil {
		wall, elapsed = b.clock()
	}
	late := wall - (b.epoch + elapsed) // negative if times are ahead of the wall clock
	step := late + b.ahead
	if max(step, -step) < leastStep {
		return
	}
	e := ClockStepped{Step: time.Duration(step), Jump: time.Duration(max(late, 0)), Ahead: time.Duration(max(-late, 0))}
	b.epoch += int64(e.Jump)
	b.ahead = int64(e.Ahead)
	s := child(Span{})
	put(b, EdgePoint, &s, &e)
}

// Seq returns the sequence number of the newest record; 0 before the first.
func (b *Bus) Seq() uint64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next - 1
}

// Bytes returns the approximate memory use of the kept records.
func (b *Bus) Bytes() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// wake wakes waiting cursors, because there are new records. Called with mu.
func (b *Bus) wake() {
	for _, c := range b.cursors {
		if c.waiting && c.due() {
			c.rouse()
		}
	}
}
