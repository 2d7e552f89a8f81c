package bundle

import (
	"fmt"
	"strings"
	"time"
)

const seenBy = "seen by: "

// SeenBy says in lines what a stream was made from, what is missing in it, and what it cannot tell.
func SeenBy(t Told) (out []string) {
	var by []string
	if t.Entries > 0 || t.Calls == 0 && t.Events+t.Pods == 0 {
		by = append(by, fmt.Sprintf("kubelet log V%d (as its messages show; it may be more), %s", max(t.Level, 0), Count(t.Entries, "entry", "entries")))
	}
	if t.Calls > 0 {
		by = append(by, fmt.Sprintf("container runtime log, %d begins and ends of calls", t.Calls))
	}
	if t.Events > 0 {
		by = append(by, Count(t.Events, "Event", "Events")+" of the API")
	}
	if t.Pods > 0 {
		by = append(by, Count(t.Pods, "pod", "pods")+" of the API")
	}
	line := seenBy + strings.Join(by, "; ")
	if t.Lost > 0 {
		line += fmt.Sprintf(", %s missing: what began or ended in between is unknown", Count(t.Lost, "line is", "lines are"))
	}
	if t.Cut > 0 {
		line += fmt.Sprintf(", %s cut", Count(t.Cut, "entry is", "entries are"))
	}
	out = append(out, line)
	if t.Zone != nil {
		out = append(out, fmt.Sprintf("the kubelet's log has no time zone: it was read as UTC%s, which fits %d containers and sandboxes that are in both logs", offset(*t.Zone), t.Same))
	}
	if t.Merged.Disagreed > 0 {
		out = append(out, fmt.Sprintf("%d of the %d times that several observers tell of differ by more than they may, at most by %v (%s)",
			t.Merged.Disagreed, t.Merged.Shared, t.Merged.Most.Round(time.Millisecond), t.Merged.What))
	}
	if m := missing(t); m != "" {
		out = append(out, m)
	}
	for _, n := range t.Notes {
		out = append(out, "note: "+n)
	}
	return out
}

// Count is a number with what is counted.
func Count(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func offset(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%+g", d.Hours())
}

// Brief says in a few words what a stream is made from.
func Brief(t Told) string {
	var by []string
	if t.Level >= 0 {
		by = append(by, fmt.Sprintf("kubelet log V%d", t.Level))
	}
	if t.Calls > 0 {
		by = append(by, "runtime log")
	}
	if t.Events+t.Pods > 0 {
		by = append(by, "API objects")
	}
	return strings.Join(by, ", ")
}

// missing says what cannot be told at this verbosity, and what would.
func missing(t Told) string {
	switch {
	case t.Entries == 0 && t.Calls > 0:
		return "not in the log of a container runtime: when pods were seen, volumes, waits and probes; give the kubelet's log too"
	case t.Entries == 0:
		return ""
	case t.Level < 2 && t.Calls > 0:
		return "not in the kubelet's log at this level: when pods were seen, volumes, waits; raise the kubelet to V2, better V4"
	case t.Level < 2:
		return "not in the log at this level: when pods were seen, sandboxes, containers, pulls; raise the kubelet to V2, better V4"
	case t.Level == 2 && t.Calls > 0:
		return "not in the kubelet's log at this level: waits for volumes, Events (V3), workers (V4); raise the kubelet to V4 to see volumes and waits"
	case t.Level == 2:
		return "not in the log at this level: pulls, making and starting containers (V3), sandboxes, workers (V4); starts of containers are known to 1 s"
	case t.Level == 3 && t.Calls > 0:
		return "not in the kubelet's log at this level: workers (V4)"
	case t.Level == 3:
		return "not in the log at this level: sandboxes, workers, container types (V4)"
	}
	return ""
}
