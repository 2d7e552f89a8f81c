package volume

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// job is an operation with the state that it needs.
type job struct {
	op
	span  trace.Span
	order uint64
	want  *wanted // for a setup
	from  origin
	// skip omits the setup: the volume is mounted and must only be expanded.
	skip bool
	grow bool
	quit <-chan struct{}
	// again says that the last attempt failed, slow that it also overstayed its slot.
	again, slow bool
}

// done is the result of an operation.
type done struct {
	result    criconfig.Volume
	refreshAt time.Time
	size      string
	seen      Sight
	left      *StagedError // of a TearDown
}

// operate runs one operation and stores the result.
func (m *Manager) operate(ctx context.Context, j job) {
	ctx = trace.ContextWith(ctx, j.span)
	lease, err := m.enter(ctx, j)
	if err != nil {
		m.abandon(j)
		return
	}
	place := m.place(j.key)
	ev := j.event(place.Dir)
	switch {
	case j.adopt:
		ev.Op = trace.VolumeAdopt
	case j.skip:
		ev.Op = trace.VolumeGrow
	case j.quiet:
		ev.Op = trace.VolumeRefresh
	}
	span := trace.Begin(m.cfg.Bus, j.span, ev)
	ctx = trace.ContextWith(ctx, span)
	ctx, parts := withParts(withLease(ctx, lease))
	var out done
	if j.verb == setUp {
		out, err = m.setUp(ctx, j)
		if out.result.HostPath != "" {
			ev.Path = out.result.HostPath
		}
	} else {
		err = m.tearDown(ctx, j.key, place)
		if left, ok := errors.AsType[*StagedError](err); ok {
			m.warnStaged(ctx, j.key.name, left)
			out.left, err = left, nil
		}
	}
	if err != nil {
		m.tell(ctx, j, err)
		err = &Error{Op: j.verb.String(), Volume: j.key.name, Plugin: j.key.plugin, Err: err}
		ev.Err = err.Error()
		ev.Class, ev.Missing = trace.Classify(ev.Err), trace.MissingIn(ev.Err)
	}
	parts.of(&ev)
	trace.End(m.cfg.Bus, span, ev)
	j.slow = lease.leave(err == nil && out.left == nil)
	m.finish(j, out, err)
}

func (m *Manager) setUp(ctx context.Context, j job) (out done, err error) {
	w := j.want
	if w.invalid != nil {
		return out, w.invalid
	}
	spec := w.spec
	spec.Adopt, spec.Refresh, spec.SELinuxLabel = j.adopt, j.quiet, w.label.Mount
	if err := m.allowed(j); err != nil {
		return out, err
	}
	if !j.skip {
		set := w.plugin.SetUp
		if b, ok := w.plugin.(BlockPlugin); ok && spec.Block {
			set = b.SetUpBlock
		}
		if out.result, err = set(ctx, spec); err != nil {
			return out, err
		}
		m.tellSetUp(ctx, j)
		out.result.ReadOnly = out.result.ReadOnly || spec.ReadOnly
		out.seen = m.see(j.key, out.result.HostPath, Sight{})
		if r, ok := w.plugin.(Refresher); ok {
			out.refreshAt = r.RefreshAt(spec)
		}
	}
	if j.grow {
		err = m.grow(ctx, spec, w, j.skip)
	}
	out.size = w.size
	return out, err
}

// grow expands a volume to the size of its persistent volume. inUse says that the volume is mounted already.
//
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go, doOnlineExpansion, GenerateMountVolumeFunc, GenerateMapVolumeFunc.
func (m *Manager) grow(ctx context.Context, spec Spec, w *wanted, inUse bool) error {
	e, ok := w.plugin.(Expander)
	if !ok {
		return nil
	}
	pvc, err := m.cfg.Claims.Grow(ctx, spec.Pod, spec.PVC, spec.PV, func(ctx context.Context, size resource.Quantity) (bool, error) {
		return e.Expand(ctx, spec, size)
	})
	if pvc != nil {
		m.mu.Lock()
		for _, name := range w.names {
			m.reclaim(spec.Pod.UID, name, resolved{pvc, spec.PV})
		}
		m.mu.Unlock()
	}
	switch {
	case err == nil:
		return nil
	case inUse:
		return &StageError{Stage: "NodeExpandVolume.NodeExpandVolume", Reason: "VolumeResizeFailed", Err: err}
	case spec.Block:
		return &StageError{Stage: "MapVolume.MarkVolumeAsMounted", While: "expanding volume", Err: err}
	}
	return &StageError{Stage: "MountVolume.Setup", While: "expanding volume", Err: err}
}

func (m *Manager) tearDown(ctx context.Context, k key, place Place) error {
	if m.cfg.BeforeTearDown != nil {
		if err := m.cfg.BeforeTearDown(ctx, m.podDir(k.uid), k.name); err != nil {
			return err
		}
	}
	p := m.named(k.plugin)
	if b, ok := p.(BlockPlugin); ok && k.block {
		return b.TearDownBlock(ctx, place)
	}
	if p != nil && !k.block {
		return p.TearDown(ctx, place)
	}
	return removeForeign(place.Dir)
}

// finish stores the result and wakes those who wait for it.
func (m *Manager) finish(j job, out done, err error) {
	m.mu.Lock()
	s := m.states[j.key]
	was := s.attach
	s.busy, s.sole, s.quiet, s.quit, s.slow = false, false, false, nil, j.slow && err != nil
	m.attempts++
	switch {
	case err != nil:
		s.mounted = s.mounted && j.verb == setUp // a failed update does not unmount the volume
		s.stale = j.quiet && !j.skip
		s.fail(j.verb, m.attempts, err, time.Now())
	case j.verb == setUp:
		if !j.skip {
			s.version, s.result, s.refreshAt, s.seen = j.want.version, out.result, out.refreshAt, out.seen
		}
		s.found, s.mounted, s.size.to, s.err = false, true, out.size, nil
		s.sized(j.want, j.grow)
		s.fresh()
	default:
		delete(m.states, j.key)
		if out.left != nil {
			m.keepStaged(j, was, out.left)
		}
	}
	settled := false
	if p := m.pods[j.key.uid]; p != nil {
		p.wake()
		if settled = p.failed && m.settled(p); settled {
			p.failed = false
		}
	}
	m.forget(j.key.uid)
	m.kick()
	m.mu.Unlock()
	if settled && m.cfg.Settled != nil {
		m.cfg.Settled(j.key.uid)
	}
	if was != "" && j.verb == tearDown && err == nil && m.cfg.InUseChanged != nil {
		m.cfg.InUseChanged()
	}
}

// settled reports whether all desired volumes of the pod are mounted. Called with mu.
func (m *Manager) settled(p *pod) bool {
	for k, w := range p.wanted {
		if !m.states[k].satisfies(w) {
			return false
		}
	}
	return !p.released
}

// abandon drops an operation that has not begun, because the reconciler stops.
func (m *Manager) abandon(j job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[j.key].busy = false
}
