package volume

import (
	"context"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Part is a part of an operation that upstream does, and counts, as an operation of its own.
type Part int

// The parts.
const (
	Attaching Part = iota // waiting until the volume is attached
	Owning                // changing the group of all files
	Unstaging             // unmounting what all pods of the node share, after the last of them
	numParts
)

type (
	partsKey struct{}
	// parts are the parts that an operation had.
	parts [numParts]trace.VolumePart
)

// Timed runs a part of the operation in ctx, and notes for its record how long that took. It returns the error of do. An operation's parts do
// not overlap, and are in its goroutine.
func Timed(ctx context.Context, part Part, do func() error) error {
	began := time.Now()
	err := do()
	if all, ok := ctx.Value(partsKey{}).(*parts); ok {
		all[part] = trace.VolumePart{Took: max(time.Since(began), 1), Failed: err != nil} // more than none
	}
	return err
}

// withParts returns a context for an operation, and where its parts will be.
func withParts(ctx context.Context) (context.Context, *parts) {
	all := &parts{}
	return context.WithValue(ctx, partsKey{}, all), all
}

// of adds the parts to the operation's record.
func (p *parts) of(ev *trace.Volume) {
	ev.Attaching, ev.Owning, ev.Unstaging = p[Attaching], p[Owning], p[Unstaging]
}
