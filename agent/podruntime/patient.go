package podruntime

import (
	"context"
	"time"
)

// patience is how much longer a call that creates something may take when its work is canceled. containerd 2.4 leaves a
// shim behind if RunPodSandbox is canceled before it returns.
const patience = 5 * time.Second

// patient returns a context for such a call: it ends some time after ctx. Call done when the call has returned.
func patient(ctx context.Context) (call context.Context, done func()) {
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-call.Done():
		case <-time.After(patience):
			cancel(context.Cause(ctx))
		}
	})
	return call, func() { stop(); cancel(nil) }
}
