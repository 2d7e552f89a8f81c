package tui

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// frame is the shortest time between two batches.
	frame = time.Second / fps
	// batch is how many records are read from the source at once.
	batch = 512
	// maxPending bounds what waits for the next frame; what comes then is left in
	// the source, which counts what it loses.
	maxPending = 16384
	// maxSpare is the largest batch whose memory is used again.
	maxSpare = 2048
)

// recsMsg is what came since the last one.
type recsMsg struct {
	chunks  []chunk
	rewound bool  // chunks are told again, from the beginning
	err     error // the source has no more
}

// chunk is records in a row, and how many were lost before them.
type chunk struct {
	lost uint64
	recs []trace.Record
}

// join appends records to chunks; a hole begins a new one.
func join(chunks []chunk, c chunk) []chunk {
	if n := len(chunks); n > 0 && c.lost == 0 {
		chunks[n-1].recs = append(chunks[n-1].recs, c.recs...)
		return chunks
	}
	c.recs = slices.Clone(c.recs)
	return append(chunks, c)
}

// pump reads a source without pause, so that batches are as large as a frame is long.
type pump struct {
	src  Source
	more chan struct{} // there is something to take
	room chan struct{} // something was taken
	full chan struct{} // nothing more fits until something is taken
	done chan struct{}

	mu      sync.Mutex
	spare   []trace.Record // the memory of an earlier batch
	pending recsMsg
	waiting int // records in pending
}

func newPump(src Source) *pump {
	return &pump{src: src, more: make(chan struct{}, 1), room: make(chan struct{}, 1), full: make(chan struct{}, 1), done: make(chan struct{})}
}

// run reads until the source ends or ctx does.
func (p *pump) run(ctx context.Context) {
	defer close(p.done)
	defer func() {
		if r := recover(); r != nil { // the terminal must not be left as it is
			p.put(nil, 0, fmt.Errorf("the source panicked: %v", r))
		}
	}()
	buf := make([]trace.Record, 0, batch)
	for {
		recs, lost, err := p.src.Next(ctx, buf)
		if ctx.Err() != nil {
			return
		}
		if rewound(err) {
			p.restart()
			err = nil
		}
		full := p.put(recs, lost, err)
		if err != nil {
			return
		}
		if full {
			nudge(p.full)
			select {
			case <-p.room:
			case <-ctx.Done():
				return
			}
		}
	}
}

// restart throws away what waits: it is told again.
func (p *pump) restart() {
	p.mu.Lock()
	p.pending, p.waiting = recsMsg{rewound: true}, 0
	p.mu.Unlock()
	nudge(p.more)
}

func (p *pump) put(recs []trace.Record, lost uint64, err error) (full bool) {
	p.mu.Lock()
	switch {
	case len(recs) == 0 && lost == 0:
	case len(p.pending.chunks) == 0 && p.spare != nil:
		p.pending.chunks = []chunk{{lost, append(p.spare, recs...)}}
		p.spare = nil
	default:
		p.pending.chunks = join(p.pending.chunks, chunk{lost, recs})
	}
	p.pending.err = err
	p.waiting += len(recs)
	full = p.waiting >= maxPending
	p.mu.Unlock()
	nudge(p.more)
	return full
}

// next is a command that returns what has come, as soon as there is something,
// but not before the time of the next frame unless there is no room for more.
func (p *pump) next(ctx context.Context, wait time.Duration) tea.Cmd {
	return func() tea.Msg {
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-p.full:
			case <-ctx.Done():
				return nil
			}
		}
		for {
			select {
			case <-p.more:
			case <-ctx.Done():
				return nil
			}
			if msg := p.take(); len(msg.chunks) > 0 || msg.rewound || msg.err != nil {
				return msg
			}
		}
	}
}

func (p *pump) take() recsMsg {
	p.mu.Lock()
	defer p.mu.Unlock()
	msg := p.pending
	p.pending, p.waiting = recsMsg{}, 0
	nudge(p.room)
	return msg
}

// recycle takes the memory of a batch whose records are no longer needed.
func (p *pump) recycle(chunks []chunk) {
	if len(chunks) == 0 || cap(chunks[0].recs) > maxSpare {
		return
	}
	p.mu.Lock()
	p.spare = chunks[0].recs[:0] // it holds on to these records until the next batch
	p.mu.Unlock()
}

// wait waits for run to return, so that the caller may close its source, but not
// for ever.
func (p *pump) wait(most time.Duration) {
	select {
	case <-p.done:
	case <-time.After(most):
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
