package tui

import "github.com/kubeloupe/kubeloupe/trace"

// What is kept while the screen is frozen: so many records, and so many bytes of them.
const (
	maxBacklog = 32768
	maxHeld    = 64 << 20
)

// backlog holds what came while the screen is frozen. Of too many records it
// keeps the last and counts the rest as lost.
type backlog struct {
	frozen bool
	chunks []chunk
	held   int    // records in chunks
	size   int    // bytes in chunks
	came   uint64 // records in all, lost ones included
}

func (b *backlog) add(chunks []chunk) {
	for _, c := range chunks {
		b.chunks = join(b.chunks, c)
		b.held += len(c.recs)
		b.size += sizeOf(c.recs)
		b.came += uint64(len(c.recs)) + c.lost
	}
	if over := b.held - maxBacklog; over > maxBacklog/8 {
		b.drop(over)
	}
	for b.size > maxHeld && b.held > 1 {
		b.drop((b.held + 7) / 8)
	}
}

func sizeOf(recs []trace.Record) (n int) {
	for i := range recs {
		n += recs[i].Size()
	}
	return n
}

// drop makes n of the oldest records a hole.
func (b *backlog) drop(n int) {
	lost := uint64(n)
	for n > 0 && n >= len(b.chunks[0].recs) {
		n -= len(b.chunks[0].recs)
		b.held -= len(b.chunks[0].recs)
		b.size -= sizeOf(b.chunks[0].recs)
		lost += b.chunks[0].lost
		b.chunks = b.chunks[1:]
		if len(b.chunks) == 0 {
			b.chunks = []chunk{{}}
			break
		}
	}
	first := &b.chunks[0]
	first.lost += lost
	b.size -= sizeOf(first.recs[:n])
	clear(first.recs[:n])
	first.recs = append(first.recs[:0], first.recs[n:]...)
	b.held -= n
}

// take returns what waits and thaws.
func (b *backlog) take() []chunk {
	chunks := b.chunks
	*b = backlog{}
	return chunks
}
