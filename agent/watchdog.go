package agent

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/device"
	"github.com/kubeloupe/kubeloupe/agent/host"
	"github.com/kubeloupe/kubeloupe/agent/localrpc"
	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/server"
)

// minSyncLoopLimit is the shortest time that an iteration may take before the syncLoop is unhealthy.
const minSyncLoopLimit = 5 * time.Minute

// checks are the health checks of /healthz and of the watchdog.
//
// Upstream: pkg/kubelet/kubelet.go, SyncLoopHealthCheck; pkg/kubelet/cm/container_manager_linux.go, GetHealthCheckers.
func (p *parts) checks(l *loop.Loop) []server.Check {
	limit := max(2*p.cfg.Kubelet.Kubelet.SyncFrequency.Duration, minSyncLoopLimit)
	out := []server.Check{{Name: "syncloop", Check: func() error { return l.Healthy(limit) }}}
	if len(p.inRoot("device-plugins", device.Socket)) <= localrpc.MaxPath { // else it is not served: see addSocket
		out = append(out, server.Check{Name: "device-plugin", Check: p.pods.devices.Healthy})
	}
	return out
}

// healthy returns the error of the first check that fails.
//
// Upstream: pkg/kubelet/watchdog/watchdog_linux.go, doCheck.
func healthy(checks []server.Check) error {
	for _, c := range checks {
		if err := c.Check(); err != nil {
			return fmt.Errorf("checker %s failed: %w", c.Name, err)
		}
	}
	return nil
}

// addWatchdog notifies systemd's watchdog while all checks succeed, if the agent's unit has a WatchdogSec.
func (p *parts) addWatchdog(l *loop.Loop) error {
	limit, err := host.WatchdogLimit()
	if err != nil || limit == 0 {
		return err
	}
	w, err := host.NewWatchdog(host.WatchdogConfig{Limit: limit, Healthy: func() error { return healthy(p.checks(l)) }, Bus: p.cfg.Bus})
	if err != nil {
		return err
	}
	p.add("watchdog", w.Run)
	return nil
}
