package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// shortestWatchdog is the shortest WatchdogSec that is accepted: the agent must be able to answer within half of it.
	shortestWatchdog = time.Second
	// watchdogRetry is the time until a notification that failed is sent again, and until an agent that was not healthy yet is checked again.
	watchdogRetry = time.Second
)

// WatchdogConfig is what a Watchdog needs.
type WatchdogConfig struct {
	// Limit is the time after which systemd kills an agent that it has not heard from: see WatchdogLimit.
	Limit time.Duration
	// Healthy returns why the agent must be restarted, or nil. It must return immediately.
	Healthy func() error
	// Notify sends a state to systemd; nil means the socket that systemd gave to the process.
	Notify func(state string) error
	Bus    *trace.Bus
}

// Watchdog tells systemd that the agent is healthy, twice within the unit's WatchdogSec. While it is not, systemd hears nothing, and
// restarts it. Pods continue to run.
//
// Upstream: pkg/kubelet/watchdog.
type Watchdog struct {
	cfg   WatchdogConfig
	every time.Duration
}

// WatchdogLimit returns the unit's WatchdogSec; 0 if systemd did not start this process, or without a watchdog.
func WatchdogLimit() (time.Duration, error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0, fmt.Errorf("systemd's watchdog: %w", err)
	}
	return limit, nil
}

// NewWatchdog returns an error for a limit of one second or less, as upstream.
func NewWatchdog(cfg WatchdogConfig) (*Watchdog, error) {
	if cfg.Healthy == nil {
		return nil, errors.New("host: WatchdogConfig.Healthy is missing")
	}
	if cfg.Limit <= shortestWatchdog {
		return nil, fmt.Errorf("WatchdogSec is %s: must be longer than %s", cfg.Limit, shortestWatchdog)
	}
	if cfg.Notify == nil {
		cfg.Notify = notify
	}
	return &Watchdog{cfg: cfg, every: cfg.Limit / 2}, nil
}

// Run notifies systemd until ctx ends. It publishes a log when the agent becomes unhealthy, and when it is healthy again. An agent that has just
// started may take a moment to be healthy.
func (w *Watchdog) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var said string // the last problem that was published
	began, starts := time.Now(), true
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		problem, wait := "", w.every
		err := w.cfg.Healthy()
		if err != nil && starts && time.Since(began) < w.every {
			timer.Reset(min(w.every, watchdogRetry))
			continue
		}
		starts = false
		if err != nil {
			problem = fmt.Sprintf("systemd is not notified, and restarts the agent after %s: the agent is not healthy", w.cfg.Limit)
			w.say(said, problem, err)
		} else if err := w.cfg.Notify(daemon.SdNotifyWatchdog); err != nil {
			problem, wait = "cannot notify systemd's watchdog", min(w.every, watchdogRetry)
			w.say(said, problem, err)
		} else if said != "" {
			trace.Point(w.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "systemd's watchdog is notified again"})
		}
		said = problem
		timer.Reset(wait)
	}
}

// say publishes a problem once.
func (w *Watchdog) say(said, problem string, err error) {
	if said != problem {
		trace.Point(w.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: problem, Attrs: errAttr(err)})
	}
}

func notify(state string) error {
	sent, err := daemon.SdNotify(false, state)
	if err == nil && !sent {
		err = errors.New("NOTIFY_SOCKET is not set")
	}
	return err
}
