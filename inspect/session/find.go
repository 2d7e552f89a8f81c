package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// ErrNotFound is returned if there is no run of the pod.
var ErrNotFound = errors.New("no such pod")

// maxNear limits how many similar names are suggested.
const maxNear = 5

// Find returns the latest run of a pod named NAMESPACE/NAME, or NAME if only one namespace has it. With #N appended, it
// is the Nth observed run.
func (s *Session) Find(ref string) (*store.PodRun, error) {
	ref, nth, numbered := strings.Cut(ref, "#")
	n := 0
	if numbered {
		var err error
		if n, err = strconv.Atoi(nth); err != nil || n < 1 {
			return nil, fmt.Errorf("pod %q: want #1 for its first start, #2 for its second, got #%s", ref, nth)
		}
	}
	l, err := s.find(ref)
	for m := l; numbered && m != nil; m = m.Before {
		if m.N == n {
			return m, nil
		}
	}
	if err == nil && numbered {
		return nil, fmt.Errorf("pod %q: %w: start #%d is not kept; the latest is #%d", ref, ErrNotFound, n, l.N)
	}
	return l, err
}

// find is Find for the latest run.
func (s *Session) find(ref string) (*store.PodRun, error) {
	ns, name, full := strings.Cut(ref, "/")
	if !full {
		ns, name = "", ref
	}
	if name == "" || full && ns == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("pod %q: want NAMESPACE/NAME", ref)
	}
	var found *store.PodRun
	for _, l := range slices.Backward(s.Runs()) {
		if l.Pod.Name != name || full && l.Pod.Namespace != ns {
			continue
		}
		if found == nil {
			found = l
		} else if l.Pod.Namespace != found.Pod.Namespace {
			return nil, fmt.Errorf("pod %q: both %s and %s have that name; say which", ref, l.Pod, found.Pod)
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, s.missing(ref, name)
}

// missing returns an error with the existing pods.
func (s *Session) missing(ref, name string) error {
	if len(s.Runs()) == 0 {
		return fmt.Errorf("pod %q: %w: no record is about any pod", ref, ErrNotFound)
	}
	near := s.near(name)
	if len(near) == 0 {
		return fmt.Errorf("pod %q: %w: records are about %d others, none with a name like it", ref, ErrNotFound, s.Pods())
	}
	return fmt.Errorf("pod %q: %w; there is %s", ref, ErrNotFound, strings.Join(near, ", "))
}

// near returns the pods with the most similar names; all if there are few.
func (s *Session) near(name string) []string {
	var near, all []string
	seen := map[string]bool{}
	for _, l := range slices.Backward(s.Runs()) {
		p := l.Pod.String()
		if seen[p] {
			continue
		}
		seen[p] = true
		all = append(all, p)
		if strings.Contains(l.Pod.Name, name) || strings.Contains(name, l.Pod.Name) || human.Distance(name, l.Pod.Name) <= max(1, len(name)/3) {
			near = append(near, p)
		}
		if len(near) == maxNear {
			break
		}
	}
	if len(near) == 0 && len(all) <= maxNear {
		near = all
	}
	slices.Sort(near)
	return near
}
