package shutdown

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// pause is how often it is checked whether pods have terminated.
	pause = 100 * time.Millisecond
	// writeLimit is how long the lock is held for the last statuses, after all pods have terminated.
	writeLimit = 3 * time.Second
	// knownLimit is how long a shutdown waits for the pods of an agent that has just started, less than youth ago; at most half of the time that
	// pods may take.
	knownLimit = 5 * time.Second
	youth      = 30 * time.Second
)

// await waits until the pods are known, or long enough. It returns false if the shutdown is canceled meanwhile.
func (m *Manager) await(ctx context.Context, conn Logind) (down bool, err error) {
	limit := time.NewTimer(min(knownLimit, total(m.cfg.Periods)/2, youth-time.Since(m.started)))
	defer limit.Stop()
	announced := conn.Announced()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-m.cfg.Pods.Known():
			return true, nil
		case <-limit.C:
			return true, nil
		case down, open := <-announced:
			switch {
			case !open:
				announced = nil // as while the pods terminate
			case !down:
				return false, nil
			}
		}
	}
}

// shutDown handles the announcement of a shutdown: it returns when the lock is released, or when the shutdown is canceled.
func (m *Manager) shutDown(ctx context.Context, conn Logind, delay time.Duration) error {
	began := time.Now()
	m.turn(ctx, true, "Shutdown manager detected shutdown event")
	m.remember(began, time.Time{})
	switch down, err := m.await(ctx, conn); {
	case err != nil:
		return err
	case !down:
		return m.cancel(ctx, conn, delay, began)
	}
	groups := plan(m.cfg.Periods, m.cfg.Pods.Active())
	said := trace.Shutdown{State: trace.ShutdownAnnounced, Delay: delay, Grace: m.seconds(), Groups: len(groups), Started: began}
	for _, g := range groups {
		said.Pods = append(said.Pods, names(g.pods)...)
	}
	span := trace.Point(m.cfg.Bus, trace.Span{}, said)

	work, stop := context.WithCancel(trace.ContextWith(ctx, span))
	defer stop()
	done := make(chan []string, 1)
	go func() { done <- m.endAll(work, groups) }()
	announced, open := conn.Announced(), true
	for {
		select {
		case overran := <-done:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			ended := time.Now()
			m.remember(began, ended)
			m.say(trace.Shutdown{State: trace.ShutdownReleased, Started: began, Ended: ended, Groups: len(groups), Overran: overran})
			m.release()
			if !open {
				return errDisconnected
			}
			return nil
		case down, ok := <-announced:
			switch {
			case !ok:
				announced, open = nil, false // the pods terminate all the same; the next connection shows what became of the shutdown
			case !down:
				stop()
				<-done
				return m.cancel(ctx, conn, delay, began)
			}
		}
	}
}

// endAll terminates one group after the other, until ctx ends. It returns the pods that had not terminated in time.
func (m *Manager) endAll(ctx context.Context, groups []group) (overran []string) {
	for i := range groups {
		if ctx.Err() != nil {
			return overran
		}
		overran = append(overran, m.end(ctx, &groups[i], i+1, len(groups))...)
	}
	limit := time.Now().Add(writeLimit)
	for _, g := range groups {
		for _, pod := range g.pods {
			for !m.cfg.Pods.Written(pod.UID) && time.Now().Before(limit) {
				if !clock.Sleep(ctx, pause) {
					return overran
				}
			}
		}
	}
	return overran
}

// end terminates a group, and waits until it has terminated or its time is over.
func (m *Manager) end(ctx context.Context, g *group, number, of int) (overran []string) {
	e := trace.Shutdown{State: trace.ShutdownGroup, Group: number, Groups: of, Priority: g.Priority, Grace: g.Grace, Pods: names(g.pods)}
	span := trace.Begin(m.cfg.Bus, trace.FromContext(ctx), e)
	defer func() { trace.End(m.cfg.Bus, span, e) }()
	for _, pod := range g.pods {
		m.cfg.Pods.ShutDown(trace.ContextWith(ctx, span), pod, g.grace(pod))
	}
	left := slices.Clone(g.pods)
	limit := time.Now().Add(time.Duration(g.Grace) * time.Second)
	for {
		left = slices.DeleteFunc(left, func(p *v1.Pod) bool { return m.cfg.Pods.Ended(p.UID) })
		if len(left) == 0 {
			return nil
		}
		if time.Until(limit) <= 0 {
			e.Overran = names(left)
			return e.Overran
		}
		if !clock.Sleep(ctx, min(pause, time.Until(limit))) {
			return nil // canceled
		}
	}
}

// names returns pods as namespace/name, sorted.
func names(pods []*v1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, podspec.Ref(p).String())
	}
	slices.Sort(out)
	return out
}
