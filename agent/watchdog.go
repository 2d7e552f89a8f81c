package agent

import (
	"github.com/kubeloupe/kubeloupe/agent/host"
	"github.com/kubeloupe/kubeloupe/agent/loop"
)

// addWatchdog notifies systemd's watchdog while the syncLoop is healthy, if the agent's unit has a WatchdogSec.
func (p *parts) addWatchdog(l *loop.Loop) error {
	limit, err := host.WatchdogLimit()
	if err != nil || limit == 0 {
		return err
	}
	w, err := host.NewWatchdog(host.WatchdogConfig{Limit: limit, Healthy: func() error { return l.Healthy(syncLoopLimit) }, Bus: p.cfg.Bus})
	if err != nil {
		return err
	}
	p.add("watchdog", w.Run)
	return nil
}
