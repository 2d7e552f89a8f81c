package session

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Find returns the latest run of a pod, which is named as in [lookup.Pod]. With #N appended, it is the Nth observed run.
// The error is a *lookup.NotFoundError if there is no such run.
func (s *Session) Find(ref string) (*store.PodRun, error) {
	name, nth, numbered := strings.Cut(ref, "#")
	n := 0
	if numbered {
		var err error
		if n, err = strconv.Atoi(nth); err != nil || n < 1 {
			return nil, fmt.Errorf("pod %q: want #1 for its first start, #2 for its second, got #%s", name, nth)
		}
	}
	pod, err := lookup.Pod(name, s.AllPods())
	if err != nil {
		return nil, err
	}
	l := s.latest(pod)
	if !numbered {
		return l, nil
	}
	var kept []string
	for m := l; m != nil; m = m.Before {
		if m.N == n {
			return m, nil
		}
		kept = append(kept, "#"+strconv.Itoa(m.N))
	}
	slices.Reverse(kept)
	return nil, &lookup.NotFoundError{What: "start", Name: "#" + nth, In: "pod " + pod.String(), Known: kept}
}

// AllPods returns the pods of all runs, the latest first; a pod with several runs several times.
func (s *Session) AllPods() iter.Seq[trace.Pod] {
	return func(yield func(trace.Pod) bool) {
		for _, l := range slices.Backward(s.Runs()) {
			if !yield(l.Pod) {
				return
			}
		}
	}
}

func (s *Session) latest(pod trace.Pod) *store.PodRun {
	for _, l := range slices.Backward(s.Runs()) {
		if l.Pod.Namespace == pod.Namespace && l.Pod.Name == pod.Name {
			return l
		}
	}
	return nil
}
