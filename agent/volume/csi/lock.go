package csi

import "context"

// take waits for a volume's lock and returns the function that releases it.
func (p *Plugin) take(ctx context.Context, id string) (func(), error) {
	return p.locks.Take(ctx, p.cfg.Bus, id, id)
}
