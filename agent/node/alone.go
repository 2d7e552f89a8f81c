package node

import (
	"context"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Alone publishes the description of a node without an object in the API.
type Alone struct {
	self     *Self
	describe func() trace.NodeDescribed
	last     *trace.NodeDescribed
	bus      *trace.Bus
}

// NewAlone returns an Alone that publishes what describe returns: see Standalone.
func NewAlone(self *Self, describe func() trace.NodeDescribed, bus *trace.Bus) *Alone {
	return &Alone{self: self, describe: describe, bus: bus}
}

// Tell publishes the description, if it has changed. It must not be called while Run runs.
func (a *Alone) Tell() {
	d := a.describe()
	if a.last != nil {
		if d.Changed = differences(a.last, &d); len(d.Changed) == 0 {
			return
		}
	}
	a.last = &d
	trace.Point(a.bus, trace.Span{}, d)
}

// Run publishes the description whenever it has changed, for example because a device plugin has registered, until ctx ends.
func (a *Alone) Run(ctx context.Context) error {
	for {
		a.Tell()
		select {
		case <-ctx.Done():
			return nil
		case <-a.self.wake:
		}
	}
}
