package flex

import (
	"context"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// take waits for the lock of a volume that has a device, and returns the function that releases it.
func (p *Plugin) take(ctx context.Context, at volume.Place) (func(), error) {
	return p.locks.Take(ctx, p.cfg.Bus, p.staging(at), at.Name)
}
