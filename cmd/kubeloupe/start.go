package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
)

// lifeOf finds the life that ref is about, and, if the agent of that life found the pod running, the one before in which
// an earlier agent of the same recording saw it start. chosen says that ref itself says which (#2).
func lifeOf(s *session.Session, ref string) (l, before *store.PodRun, chosen bool, err error) {
	if l, err = s.Find(ref); err != nil {
		return nil, nil, false, userError{err}
	}
	if before = l.Started(); before == l {
		before = nil
	}
	return l, before, strings.Contains(ref, "#"), nil
}

// fallOf is the start that ref is about, laid out. That a pod was found running is no obstacle where its start is known, and is said.
func (t *tracing) fallOf(s *session.Session, ref string, now time.Time) (*store.PodRun, *waterfall.Waterfall, error) {
	l, before, chosen, err := lifeOf(s, ref)
	if err != nil {
		return nil, nil, err
	}
	if before != nil && !chosen {
		t.s.note(l.Ref() + " was adopted by a later agent; this is its start, " + before.Ref())
		l = before
	}
	f, err := l.Waterfall(now)
	switch {
	case !errors.Is(err, waterfall.ErrAdopted):
		return l, f, err
	case before != nil:
		return nil, nil, userError{fmt.Errorf("%s: %w; an earlier agent observed it: use %s", l.Ref(), waterfall.ErrAdopted, before.Ref())}
	}
	return nil, nil, userError{fmt.Errorf("%s: %w; kubeloupe why shows its current state, and an earlier recording may contain the start", l.Pod, waterfall.ErrAdopted)}
}

// life is the one that ref is about. Of a pod that was found running and is well, its start is of interest, where that is known.
func (a *asking) life(s *session.Session, ref string, now time.Time) (*store.PodRun, error) {
	l, before, chosen, err := lifeOf(s, ref)
	switch {
	case err != nil || before == nil:
		return l, err
	case chosen || s.Case(l, now).Stage() != cause.Up:
		a.s.note(l.Ref() + " was adopted by a later agent; for its start, use kubeloupe why " + before.Ref())
		return l, nil
	}
	a.s.note(l.Ref() + " was adopted by a later agent and runs; this is its start, " + before.Ref())
	return before, nil
}
