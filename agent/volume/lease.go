package volume

import (
	"context"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
)

type leaseKey struct{}

// lease is an operation's slot.
type lease struct {
	slots *semaphore.Slots
	turn  semaphore.Turn
	kind  string
	quit  <-chan struct{}
	work  *semaphore.Work
	slow  bool // it overstayed
}

// enter waits for a slot for an operation. Each kind of volume has its own class, so that one kind (for example with a
// hung server) does not delay the others. Retries are a class apart from first attempts.
func (m *Manager) enter(ctx context.Context, j job) (*lease, error) {
	what := strings.TrimSpace(j.key.plugin + " " + j.want.driver())
	l := &lease{
		slots: m.slots, kind: j.verb.String() + " " + what, quit: j.quit,
		turn: semaphore.Turn{Class: what, Order: j.order, Pod: j.span.Pod, Slow: j.slow},
	}
	if j.again {
		l.turn.Class += " again"
	}
	var err error
	l.work, err = m.slots.Enter(ctx, l.turn, l.kind)
	return l, err
}

// driver returns the CSI driver of the volume; "" if there is none, or it is not known.
func (w *wanted) driver() string {
	switch {
	case w == nil:
	case w.spec.PV != nil && w.spec.PV.Spec.CSI != nil:
		return w.spec.PV.Spec.CSI.Driver
	case w.spec.Volume != nil && w.spec.Volume.CSI != nil:
		return w.spec.Volume.CSI.Driver
	}
	return ""
}

// leave releases the slot and reports whether the operation overstayed.
func (l *lease) leave(well bool) (overstayed bool) {
	return l.work.Leave(well) || l.slow
}

func withLease(ctx context.Context, l *lease) context.Context {
	return context.WithValue(ctx, leaseKey{}, l)
}

// Released is closed when the volume that is being set up is no longer wanted. Calls that change something continue to
// their end; calls that only wait return ErrReleased.
func Released(ctx context.Context) <-chan struct{} {
	l, ok := ctx.Value(leaseKey{}).(*lease)
	if !ok {
		return nil
	}
	return l.quit
}

// Idle is for a plugin's call that only waits, for example for an attachment: its slot is free for other operations while wait
// runs. It returns wait's error.
func Idle(ctx context.Context, wait func() error) error {
	l, ok := ctx.Value(leaseKey{}).(*lease)
	if !ok {
		return wait()
	}
	l.slow = l.work.Leave(false) || l.slow
	err := wait()
	// Take a slot again even if ctx has ended: operate releases it.
	work, again := l.slots.Enter(context.WithoutCancel(ctx), l.turn, l.kind)
	if again != nil {
		return again
	}
	l.work = work
	return err
}
