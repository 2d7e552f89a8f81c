package step

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// errNoLook says that the session has no snapshots.
var errNoLook = errors.New("this session cannot look at the node")

// changes returns what changed on the node since the last stop, and makes now the new last, unless ctx ended during the
// snapshot: an incomplete one would show wrong removals.
func (s *Session) changes(ctx context.Context, pod trace.Pod, stop *Stop) (now []string) {
	if s.cfg.Snapshot == nil {
		return nil
	}
	now = s.cfg.Bus.Scrubbed(pod, s.cfg.Snapshot.Snapshot(ctx, pod))
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		stop.Changed = []string{fmt.Sprintf("unknown: the node could not be inspected within %s", lookFor)}
		return s.last
	}
	if pod.UID != s.uid {
		s.uid, s.first, s.last = pod.UID, now, nil
	}
	stop.Changed = Diff(s.last, now)
	s.last = now
	return now
}

// lookNow takes a snapshot for the person.
func (s *Session) lookNow(ctx context.Context) (now, last, first []string, err error) {
	s.mu.Lock()
	pod := s.stop.Pod
	last, first = s.last, s.first
	s.mu.Unlock()
	switch {
	case s.cfg.Snapshot == nil:
		return nil, nil, nil, errNoLook
	case pod.UID == "":
		return nil, nil, nil, fmt.Errorf("%s has not been stopped yet: there is nothing to show", s.cfg.Pod)
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	now = s.cfg.Bus.Scrubbed(pod, s.cfg.Snapshot.Snapshot(ctx, pod))
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, fmt.Errorf("look at the node: %w", err)
	}
	return now, last, first, nil
}

// diff compares the node now with the last stop, or the first.
func (s *Session) diff(ctx context.Context, since string) (string, error) {
	if since != "" && since != "start" {
		return "", fmt.Errorf("diff %s: want diff (since the last stop) or diff start (since the first)", since)
	}
	now, then, first, err := s.lookNow(ctx)
	if err != nil {
		return "", err
	}
	if since == "start" {
		then = first
	}
	if lines := Diff(then, now); len(lines) > 0 {
		return strings.Join(lines, "\n"), nil
	}
	return "nothing changed", nil
}

// inspect lists what exists of the pod on the node now.
func (s *Session) inspect(ctx context.Context) (string, error) {
	now, _, _, err := s.lookNow(ctx)
	switch {
	case err != nil:
		return "", err
	case len(now) == 0:
		return "nothing of the pod is on the node", nil
	}
	return strings.Join(now, "\n"), nil
}

// netns returns the path of the pod's network namespace in a snapshot.
func netns(lines []string) string {
	for _, l := range lines {
		if path, ok := strings.CutPrefix(l, "netns /"); ok {
			path, _, _ = strings.Cut(path, " ")
			return "/" + path
		}
	}
	return ""
}
