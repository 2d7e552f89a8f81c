package oom

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// together is how long, by the kernel's clock, the lines of one out-of-memory condition may take.
const together = 5 * time.Second

// fold joins the lines of one kill. The kernel writes, with other lines before, between and after:
//
//	NAME invoked oom-killer: ...             omitted, with the next one, when it kills often
//	oom-kill:constraint=... or Task in ...   the cgroups
//	... Kill process ...                     before Linux 5.0
//	... Killed process ...                   the victim and its memory
//	Tasks in ... are going to be killed ...  only with memory.oom.group; then a kill of each other process of the cgroup
//
// The kernel holds a lock meanwhile, so lines of two conditions are not mixed. It has no clock and no goroutine.
type fold struct {
	now   *trace.OOMKill // what is known of the condition; nil without one
	at    time.Duration  // when it began
	named bool           // now has the victim's id
	group *trace.OOMKill // what the kills of a group have in common
	since time.Duration  // when the group's kills began
	last  int            // the process that was killed last
}

// take takes in a line. It returns kills that are complete: mostly none, or one.
func (f *fold) take(m message) (out []trace.OOMKill) {
	s := string(m.text)
	if f.now != nil && m.at-f.at > together {
		out = f.lost()
	}
	if strings.Contains(s, " invoked oom-killer:") {
		return append(out, f.begin(m, trace.OOMKill{Constraint: trace.OOMSystem, Limited: "/"})...)
	}
	if e, ok := parseSummary(s); ok {
		out = append(out, f.begin(m, e)...)
		f.named = true
		return out
	}
	if task, limited, ok := parseTask(s); ok {
		return append(out, f.begin(m, trace.OOMKill{Constraint: trace.OOMMemcg, Cgroup: task, Limited: limited})...)
	}
	if e, ok := parseKill(s); ok && f.now == nil {
		return append(out, f.begin(m, e)...)
	}
	if group, ok := parseGroup(s); ok {
		f.group, f.since = &trace.OOMKill{Constraint: trace.OOMMemcg, Cgroup: group, Limited: group}, m.at
		return out
	}
	if e, ok := parseKilled(s); ok {
		return append(out, f.killed(m, e)...)
	}
	if f.now != nil && strings.HasSuffix(s, "is already exiting. Skip killing the task") {
		*f = fold{}
	}
	return out
}

// begin starts a condition, or replaces what is known of the one that began. A victim that was named in one before it was killed.
func (f *fold) begin(m message, e trace.OOMKill) []trace.OOMKill {
	out := f.lost()
	f.now, f.at = &e, m.at
	return out
}

// killed completes a kill with what is known of its condition. Its id is that of the thread which has the memory, mostly that of the process.
func (f *fold) killed(m message, e trace.OOMKill) (out []trace.OOMKill) {
	known := f.now
	if known != nil && e.Constraint != "" && (e.Constraint == trace.OOMMemcg) != (known.Limited != "/") {
		out, known = f.lost(), nil // the lines of its own condition are missing
	}
	switch {
	case known != nil:
		f.group = nil
	case f.group != nil && e.Constraint != trace.OOMSystem && m.at-f.since <= together:
		if e.PID == f.last {
			return nil // the first victim is one of the group: the kernel says it again
		}
		known = f.group
	case e.Constraint == "":
		return out // it does not say that memory was short
	}
	if known != nil {
		e.Constraint, e.Cgroup, e.Limited = known.Constraint, known.Cgroup, known.Limited
	}
	f.now, f.named, f.last = nil, false, e.PID
	return append(out, e)
}

// lost ends a condition whose other lines are missing: a victim that was named was killed.
func (f *fold) lost() (out []trace.OOMKill) {
	if f.now != nil && f.named {
		out = append(out, *f.now)
	}
	*f = fold{}
	return out
}
