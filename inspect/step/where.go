package step

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// where returns where the pod is paused, in which plan and sync, and why.
func (s *Session) where() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop := &s.stop
	var out []string
	say := func(name, format string, args ...any) {
		out = append(out, strings.TrimRight(fmt.Sprintf("%-9s "+format, append([]any{name}, args...)...), " "))
	}
	pod := s.cfg.Pod
	if stop.Pod.UID != "" {
		pod = stop.Pod
	}
	say("pod", "%s %s", pod, pod.UID)
	if s.waiting == nil {
		say("at", "nothing waits")
	} else {
		at := stop.Place()
		if stop.Attempt > 1 {
			at += fmt.Sprintf("  try %d", stop.Attempt)
		}
		say("at", "%s   %d of %d", at, stop.Index, stop.Total)
		if stop.Err != "" {
			say("failed", "%s", stop.Err)
		}
		for i := range s.steps {
			if st := &s.steps[i]; st.ID == stop.Next && st.Reason != "" {
				say("because", "%s", st.Reason)
			}
		}
		what := "creation"
		if stop.Ending {
			what = "deletion"
		}
		say("plan", "%s: %s", what, cmp.Or(s.why, "no reason was given"))
	}
	if s.sync.N > 0 {
		say("pass", "%d, %s %s", s.sync.N, s.sync.Why, s.sync.Cause)
	}
	for _, m := range s.passed {
		say("passed", "%s %s", m.Name, since(m.Since))
	}
	if s.until != "" {
		say("until", "%s", s.until)
	}
	return strings.Join(append(out, s.breaks.list()), "\n"), nil
}

func since(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "after " + human.Duration(d)
}
