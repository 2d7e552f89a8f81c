package shutdown

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The delays before another attempt to connect. Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, dbusReconnectPeriod.
const (
	retryFirst = time.Second
	retryLast  = 30 * time.Second
)

// errDisconnected is the end of a connection.
var errDisconnected = errors.New("the connection to the system bus ended")

// Run holds the lock and handles shutdowns until ctx ends. It never returns an error: a node without logind has no graceful shutdown.
func (m *Manager) Run(ctx context.Context) error {
	defer m.release()
	m.started = time.Now()
	m.tellLast()
	warned := ""
	for failed := 0; ; failed++ {
		held, err := m.session(ctx)
		if held {
			failed, warned = 0, ""
		}
		switch {
		case ctx.Err() != nil:
		case held:
			m.warn("the connection to logind ended, and is made again", err)
		case err.Error() != warned:
			warned = err.Error()
			m.warn("logind cannot be used: a shutdown of the machine does not wait for pods", err)
		}
		if !clock.Sleep(ctx, backoff.After(backoff.Doubling(retryFirst, retryLast), failed)) {
			return nil
		}
	}
}

// session uses one connection until it or ctx ends. It reports whether it got so far as to handle shutdowns.
func (m *Manager) session(ctx context.Context) (ready bool, err error) {
	conn, err := m.cfg.Connect(ctx)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it
	delay, err := m.extend(ctx, conn)
	if err != nil {
		return false, err
	}
	down, err := conn.Preparing(ctx) // what was announced while there was no connection
	if err != nil {
		return false, err
	}
	switch {
	case down && !m.Underway():
		err = m.shutDown(ctx, conn, delay)
	case !down && m.Underway():
		err = m.cancel(ctx, conn, delay, time.Time{})
	case !down:
		err = m.hold(ctx, conn, delay)
	}
	for err == nil {
		err = m.next(ctx, conn, delay)
	}
	return !errors.Is(err, errInhibit), err
}

// next handles the next announcement.
func (m *Manager) next(ctx context.Context, conn Logind, delay time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case down, open := <-conn.Announced():
		switch {
		case !open:
			return errDisconnected
		case down:
			return m.shutDown(ctx, conn, delay)
		case m.Underway():
			return m.cancel(ctx, conn, delay, time.Time{})
		case m.lock == nil:
			return m.hold(ctx, conn, delay)
		}
		return nil
	}
}

// errInhibit is a lock that could not be taken.
var errInhibit = errors.New("take the inhibitor lock")

// hold takes the lock. An earlier one, of another connection, is released after that, so that there is no time without a lock.
func (m *Manager) hold(ctx context.Context, conn Logind, delay time.Duration) error {
	lock, err := conn.Inhibit(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errInhibit, err)
	}
	m.release()
	m.lock = lock
	m.say(trace.Shutdown{State: trace.ShutdownHeld, Delay: delay, Grace: m.seconds()})
	return nil
}

// release releases the lock, if it is held.
func (m *Manager) release() {
	if m.lock == nil {
		return
	}
	if err := m.lock.Close(); err != nil {
		m.warn("the inhibitor lock cannot be released: the machine shuts down when logind does not wait any longer", err)
	}
	m.lock = nil
}

// cancel handles the cancellation of a shutdown; began is zero if its pods have all terminated before.
func (m *Manager) cancel(ctx context.Context, conn Logind, delay time.Duration, began time.Time) error {
	m.turn(ctx, false, "Shutdown manager detected shutdown cancellation")
	e := trace.Shutdown{State: trace.ShutdownCanceled}
	if !began.IsZero() {
		e.Started, e.Ended = began, time.Now()
		m.remember(e.Started, e.Ended)
	}
	m.say(e)
	return m.hold(ctx, conn, delay)
}

func (m *Manager) seconds() int64 { return int64(total(m.cfg.Periods) / time.Second) }

func (m *Manager) say(e trace.Shutdown) { trace.Point(m.cfg.Bus, trace.Span{}, e) }

func (m *Manager) warn(message string, err error) {
	trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{
		Level: trace.LevelWarn, Message: message, Attrs: []trace.KV{{K: "error", V: err.Error()}},
	})
}
