package oom

import (
	"path"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPath limits the name of a cgroup, in bytes.
const maxPath = 1024

// parseSummary reads the line that names cgroups and the victim, since Linux 5.0:
//
//	oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ID,mems_allowed=0,oom_memcg=/A,task_memcg=/A/B,task=NAME,pid=1,uid=0
//
// Without a limit of a cgroup, global_oom is in place of oom_memcg. The process chooses NAME, which may contain all of this; so the cgroups
// are read from the left and the numbers from the right.
func parseSummary(s string) (trace.OOMKill, bool) {
	_, s, ok := strings.Cut(s, "oom-kill:constraint=")
	if !ok {
		return trace.OOMKill{}, false
	}
	constraint, rest, _ := strings.Cut(s, ",")
	e := trace.OOMKill{Constraint: constraints[constraint], Limited: "/"}
	at := strings.LastIndex(rest, ",uid=")
	if at < 0 {
		return trace.OOMKill{}, false
	}
	rest = rest[:at]
	if at = strings.LastIndex(rest, ",pid="); at < 0 {
		return trace.OOMKill{}, false
	}
	if e.PID, ok = number(rest[at+len(",pid="):]); !ok {
		return trace.OOMKill{}, false
	}
	before, after, ok := strings.Cut(rest[:at], ",task_memcg=")
	if !ok { // a kernel without memory cgroups
		_, e.Process, ok = strings.Cut(before, ",task=")
		return e, ok
	}
	if _, limited, has := strings.Cut(before, ",oom_memcg="); has {
		e.Limited = cgroup(limited)
	}
	var task string
	task, e.Process, ok = strings.Cut(after, ",task=")
	e.Cgroup = cgroup(task)
	return e, ok
}

// constraints are the kernel's names. Upstream: mm/oom_kill.c, oom_constraint_text.
var constraints = map[string]trace.OOMConstraint{
	"CONSTRAINT_NONE": trace.OOMSystem, "CONSTRAINT_CPUSET": trace.OOMCpuset, "CONSTRAINT_MEMORY_POLICY": trace.OOMPolicy, "CONSTRAINT_MEMCG": trace.OOMMemcg,
}

// parseTask reads the line that names cgroups before Linux 5.0: "Task in /A/B killed as a result of limit of /A".
func parseTask(s string) (task, limited string, ok bool) {
	s, ok = strings.CutPrefix(s, "Task in ")
	if !ok {
		return "", "", false
	}
	task, limited, ok = strings.Cut(s, " killed as a result of limit of ")
	return cgroup(task), cgroup(limited), ok
}

// parseGroup reads the line before the kills of all processes of a cgroup: "Tasks in /A are going to be killed due to memory.oom.group set".
func parseGroup(s string) (group string, ok bool) {
	s, ok = strings.CutPrefix(s, "Tasks in ")
	if !ok {
		return "", false
	}
	group, ok = strings.CutSuffix(s, " are going to be killed due to memory.oom.group set")
	return cgroup(group), ok
}

// parseKill reads the line before a kill, before Linux 5.0: "Out of memory: Kill process 1 (NAME) score 5 or sacrifice child". The victim may be
// another process, which the next line has.
func parseKill(s string) (trace.OOMKill, bool) {
	cause, _, ok := strings.Cut(s, "Kill process ")
	e := trace.OOMKill{}
	e.Constraint, e.Limited = shortOf(cause)
	return e, ok && e.Constraint != ""
}

// shortOf returns what had no more memory, by the beginning of the line of a kill, and the limited cgroup if that is the whole node.
func shortOf(cause string) (c trace.OOMConstraint, limited string) {
	switch {
	case strings.HasPrefix(cause, "Memory cgroup out of memory"):
		return trace.OOMMemcg, ""
	case strings.HasPrefix(cause, "Out of memory"):
		return trace.OOMSystem, "/"
	}
	return "", ""
}

// parseKilled reads the line of a kill. The first two forms are of Linux 5.0 and later:
//
//	Memory cgroup out of memory: Killed process 1 (NAME) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:88kB oom_score_adj:0
//	Out of memory: Killed process 1 (NAME) total-vm:...
//	Killed process 1 (NAME), UID 0, total-vm:...
//	Killed process 1 (NAME) total-vm:...
//
// NAME may contain parentheses, so the last figures are the kernel's.
func parseKilled(s string) (trace.OOMKill, bool) {
	cause, rest, ok := strings.Cut(s, "Killed process ")
	if !ok {
		return trace.OOMKill{}, false
	}
	var e trace.OOMKill
	if e.Constraint, e.Limited = shortOf(cause); e.Constraint == "" && cause != "" {
		return trace.OOMKill{}, false
	}
	pid, rest, _ := strings.Cut(rest, " (")
	if e.PID, ok = number(pid); !ok {
		return trace.OOMKill{}, false
	}
	name, figures := rest, ""
	if at := strings.LastIndex(rest, "total-vm:"); at >= 0 {
		name, figures = rest[:at], rest[at:]
	}
	at := strings.LastIndexByte(name, ')')
	if at < 0 {
		return trace.OOMKill{}, false
	}
	e.Process = name[:at]
	if _, rss, has := strings.Cut(figures, " anon-rss:"); has {
		rss, _, _ = strings.Cut(rss, "kB")
		if kb, err := strconv.ParseInt(rss, 10, 64); err == nil && kb > 0 && kb < 1<<50 {
			e.RSS = kb << 10
		}
	}
	return e, true
}

// number reads a process id.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && n > 0
}

// cgroup returns the clean name of a cgroup.
func cgroup(s string) string {
	s = path.Join("/", unescape(s))
	return s[:min(len(s), maxPath)]
}
