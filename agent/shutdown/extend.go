package shutdown

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/clock"
)

// How often, and after what first pause, which doubles, it is checked whether logind has taken a new configuration.
// Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, start.
const (
	extendChecks = 5
	extendPause  = 100 * time.Millisecond
)

// extend makes sure that logind waits as long as the pods may take, and returns how long it does. If that is shorter, because the
// configuration cannot be changed, it warns: a part of the time is better than none.
func (m *Manager) extend(ctx context.Context, conn Logind) (time.Duration, error) {
	need := total(m.cfg.Periods)
	delay, err := conn.Delay(ctx)
	if err != nil || delay >= need {
		return delay, err
	}
	err = conn.SetDelay(ctx, need)
	for i := 0; err == nil && i < extendChecks; i++ {
		if !clock.Sleep(ctx, extendPause<<i) {
			return delay, ctx.Err()
		}
		if delay, err = conn.Delay(ctx); err == nil && delay >= need {
			return delay, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("logind has not taken InhibitDelayMaxSec=%.0f from %s: a later file may override it", need.Seconds(), dropIn)
	}
	m.warn(fmt.Sprintf("a shutdown of the machine waits %s for pods, and not %s, as the configuration requires", delay, need), err)
	return delay, nil
}
