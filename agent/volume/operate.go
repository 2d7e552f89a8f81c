package volume

import (
	"context"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// job is an operation with what it needs of the state it was planned from.
type job struct {
	op
	span  trace.Span
	order uint64
	want  *wanted // of a setup
}

// operate carries one operation out and tells the result.
func (m *Manager) operate(ctx context.Context, j job) {
	ctx = trace.ContextWith(ctx, j.span)
	if err := m.slots.Acquire(ctx, j.order); err != nil {
		m.abandon(j)
		return
	}
	defer m.slots.Release()
	place := m.place(j.key)
	ev := trace.Volume{Op: j.verb.String(), Name: j.key.name, Plugin: j.key.plugin, Path: place.Dir}
	if j.adopt {
		ev.Op = "adopt"
	}
	span := trace.Begin(m.cfg.Bus, j.span, ev)
	ctx = trace.ContextWith(ctx, span)
	var result criconfig.Volume
	var err error
	if j.verb == setUp {
		result, err = j.want.plugin.SetUp(ctx, j.want.spec)
		if result.HostPath != "" {
			ev.Path = result.HostPath
		}
	} else {
		err = m.tearDown(ctx, j.key, place)
	}
	if err != nil {
		err = &Error{Op: j.verb.String(), Volume: j.key.name, Plugin: j.key.plugin, Err: err}
		ev.Err = err.Error()
	}
	trace.End(m.cfg.Bus, span, ev)
	m.finish(j, result, err)
}

func (m *Manager) tearDown(ctx context.Context, k key, place Place) error {
	if p := m.plugins[k.plugin]; p != nil {
		return p.TearDown(ctx, place)
	}
	return removeForeign(place.Dir)
}

// finish notes the result and wakes whoever waits for it.
func (m *Manager) finish(j job, result criconfig.Volume, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[j.key]
	s.busy = false
	m.attempts++
	switch {
	case err != nil:
		s.mounted = s.mounted && j.verb == setUp // an update that failed leaves what there was
		s.fail(j.verb, m.attempts, err, time.Now())
	case j.verb == setUp:
		s.found, s.mounted, s.version, s.result, s.err = false, true, j.want.version, result, nil
		s.fresh()
	default:
		delete(m.states, j.key)
	}
	if p := m.pods[j.key.uid]; p != nil {
		p.wake()
	}
	m.forget(j.key.uid)
	m.kick()
}

// abandon gives up an operation that has not begun, because the reconciler stops.
func (m *Manager) abandon(j job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[j.key].busy = false
}
