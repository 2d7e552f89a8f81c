package image

import (
	"context"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// progressEvery is the shortest time between two ImageProgress events of a pull.
const progressEvery = 250 * time.Millisecond

// Progress is the progress of a pull.
type Progress struct {
	// Done and Total are in bytes; Total is 0 while unknown.
	Done, Total int64
	// Source is the source of the figures, as in trace.ImageProgress.Source.
	Source trace.ProgressSource
}

// ProgressFunc follows the pull of an image and calls report for each change, until ctx is done. It runs only during
// that pull.
type ProgressFunc func(ctx context.Context, image string, report func(Progress))

// reporter publishes progress as events: not too often, only changes, and never after the pull's end.
type reporter struct {
	bus   *trace.Bus
	span  trace.Span
	image string
	work  *semaphore.Work // nil if pulls are not limited

	mu     sync.Mutex
	ended  bool
	last   Progress
	lastAt time.Time
}

func (r *reporter) report(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.ended || p == r.last || now.Sub(r.lastAt) < progressEvery {
		return
	}
	r.last, r.lastAt = p, now
	if r.work != nil {
		r.work.GetsOn()
	}
	trace.Point(r.bus, r.span, trace.ImageProgress{Image: r.image, Done: p.Done, Total: p.Total, Source: p.Source})
}

func (r *reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// follow starts the progress source, if there is one, and returns the function that stops it.
func (p *Puller) follow(ctx context.Context, sp trace.Span, image string, work *semaphore.Work) (stop func()) {
	if p.progress == nil || p.bus == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reporter{bus: p.bus, span: sp, image: image, work: work}
	go p.progress(ctx, image, r.report)
	return func() {
		r.end()
		cancel()
	}
}
