package trace

import (
	"sync"
	"sync/atomic"
	"time"
)

// DefaultCapacity is how many records a bus keeps by default.
const DefaultCapacity = 8192

// What the records of a bus may take in memory by default: room for all of them at a size that few records of an ordinary node
// have, and of the largest there are (MaxEvent and two times MaxBody) some dozen at least.
const (
	bytesPerRecord = 8 << 10
	leastBytes     = 4 << 20
)

// Bus is one ring of records shared by all readers. A nil *Bus drops
// everything, so a component need not ask whether anyone looks.
type Bus struct {
	start time.Time // carries the monotonic reading
	clock func() (wall, elapsed int64)

	scrub atomic.Pointer[Scrubber] // nil: nothing is blanked

	mu      sync.Mutex
	epoch   int64 // when the bus was born, in Unix nanoseconds, by the wall clock as it is now unless that was set back
	ahead   int64 // by how much times are ahead of the wall clock, which was set back
	slots   []Record
	sizes   []uint32 // what the record in each slot takes
	next    uint64   // sequence number of the next record; the first is 1
	first   uint64   // sequence number of the oldest record that is kept; next when there is none
	bytes   int64    // what all records that are kept take
	total   int64    // what all records that were ever published took
	budget  int64    // the most that bytes may be, unless one record takes more
	spare   [kindCount][]Event
	cursors []*Cursor
}

// NewBus returns a bus that keeps the last capacity records (rounded up to a
// power of two; 0 means DefaultCapacity), and fewer where they take more than DefaultBytes.
func NewBus(capacity int) *Bus { return NewBusOf(capacity, 0) }

// NewBusOf returns a bus that keeps the last capacity records, as NewBus, and of those as many as take no more than budget bytes (0 means
// DefaultBytes of the capacity). The newest one is kept whatever it takes.
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

// DefaultBytes is what capacity records may take in memory by default: 8 KiB for each, and 4 MiB at least.
func DefaultBytes(capacity int) int64 { return max(int64(capacity)*bytesPerRecord, leastBytes) }

// elapsed is the monotonic time since the bus's birth. With the epoch, it is the bus's clock in Unix nanoseconds.
func (b *Bus) elapsed() int64 {
	if b.clock != nil {
		_, elapsed := b.clock()
		return elapsed
	}
	return int64(time.Since(b.start))
}

// leastStep is what counts as a step of the wall clock: less is how clocks are read one after the other.
const leastStep = int64(time.Second)

// Anchor has the times of records follow the wall clock again, which somebody may have set since, and publishes a ClockStepped if so.
// Call it when the kernel says that the clock was set, or now and then.
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
	late := wall - (b.epoch + elapsed) // negative where times are ahead of the wall clock
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

// Bytes returns about how much memory the records take that are kept.
func (b *Bus) Bytes() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// wake tells waiting cursors that there is something to read. Called with mu.
func (b *Bus) wake() {
	for _, c := range b.cursors {
		if c.waiting && c.due() {
			c.rouse()
		}
	}
}
