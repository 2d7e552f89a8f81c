package clock

import (
	"context"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Watch makes a bus follow the wall clock.
type Watch struct{ bus *trace.Bus }

// New returns a watch that does not run.
func New(bus *trace.Bus) *Watch { return &Watch{bus: bus} }

// Run anchors the bus whenever the wall clock was set or the machine suspended, until ctx ends. If the kernel does not report this,
// it checks periodically.
func (w *Watch) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.bus.Anchor()
		await(ctx)
	}
	return nil
}
