package volume

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/trace"
)

// staged is what is left of a volume that no pod has any more; see [StagedError].
type staged struct {
	job    job // its last TearDown
	attach v1.UniqueVolumeName
	again  func(ctx context.Context) error

	busy    bool
	err     string // the last one that was published
	fails   int    // in a row
	retryAt time.Time
}

// fail records a failed attempt, and reports whether its error is a new one.
func (s *staged) fail(err error, now time.Time) (news bool) {
	s.retryAt = now.Add(backoff.After(backoff.Doubling(firstDelay, lastDelay), s.fails))
	s.fails++
	news = s.err != err.Error()
	s.err = err.Error()
	return news
}

// keepStaged remembers what a TearDown has left. Called with mu.
func (m *Manager) keepStaged(j job, attach v1.UniqueVolumeName, left *StagedError) {
	s := &staged{job: j, attach: attach, again: left.Again}
	s.job.again = true
	s.fail(left, time.Now())
	m.staged[stagedKey{j.key.plugin, j.key.name, j.key.block}] = s
}

// stagedKey identifies a volume across pods.
type stagedKey struct {
	plugin, name string
	block        bool
}

// unstage starts the attempts that are due, and returns when the next one is; zero for never. Called with mu.
func (m *Manager) unstage(now time.Time, start func(func(ctx context.Context))) (next time.Time) {
	for k, s := range m.staged {
		switch {
		case s.busy:
		case s.retryAt.After(now):
			if next.IsZero() || s.retryAt.Before(next) {
				next = s.retryAt
			}
		default:
			s.busy = true
			start(func(ctx context.Context) { m.unstageOne(ctx, k, s) })
		}
	}
	return next
}

func (m *Manager) unstageOne(ctx context.Context, k stagedKey, s *staged) {
	slow := false
	lease, err := m.enter(ctx, s.job)
	if err == nil {
		err = s.again(withLease(ctx, lease))
		slow = lease.leave(err == nil)
	}
	m.mu.Lock()
	s.busy, s.job.slow = false, slow
	news := err != nil && s.fail(err, time.Now())
	gone := err == nil && m.staged[k] == s
	if gone {
		delete(m.staged, k)
	}
	m.kick()
	m.mu.Unlock()
	if news && ctx.Err() == nil {
		m.warnStaged(ctx, k.name, err)
	}
	if gone && s.attach != "" && m.cfg.InUseChanged != nil {
		m.cfg.InUseChanged()
	}
}

// warnStaged publishes that a volume cannot be unstaged.
func (m *Manager) warnStaged(ctx context.Context, name string, err error) {
	trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{
		Level: trace.LevelWarn, Message: "volume " + name + ", which no pod of the node has any more, could not be unmounted from it: " + err.Error(),
	})
}
