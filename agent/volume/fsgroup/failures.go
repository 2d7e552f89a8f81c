package fsgroup

import (
	"context"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Failures are the files whose group or mode could not be set.
type Failures struct {
	Number int
	// First is the error of the first one, with its path within the volume.
	First error
}

// And returns both.
func (f Failures) And(more Failures) Failures {
	if f.First == nil {
		f.First = more.First
	}
	f.Number += more.Number
	return f
}

// Warn publishes one warning about the volume, if there are any.
func (f Failures) Warn(ctx context.Context, bus *trace.Bus, volume string) {
	if f.Number > 0 {
		warn(ctx, bus, volume, fmt.Errorf("%d files could not be changed, the first: %w", f.Number, f.First))
	}
}

func warn(ctx context.Context, bus *trace.Bus, volume string, err error) {
	trace.Point(bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: "the fsGroup of the pod cannot be set on " + volume + ": " + err.Error()})
}
