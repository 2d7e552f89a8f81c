package step

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Stop is a stop of a pod: where it is paused, or, if Next is empty, a change of its state while no action is paused.
//
// Many fields: a stop is everything that a person sees of a pod, and is sent over a socket as one line.
type Stop struct {
	Pod trace.Pod `json:"pod"`
	// Index is the position of the paused action in the plan, from 1; Total is the number of actions in the current plan.
	Index int `json:"index,omitempty"`
	Total int `json:"total,omitempty"`
	// Actions are the plan's actions, in the order of execution.
	Actions []Action `json:"actions,omitempty"`
	// Next is the ID of the paused action, such as "create web".
	Next string `json:"next,omitempty"`
	// When is before, call or after; empty means before.
	When gate.When `json:"when,omitempty"`
	// Call is the CRI method of the paused call, for When call.
	Call string `json:"call,omitempty"`
	// Attempt numbers the attempts of the action; 0 or 1 is the first.
	Attempt int `json:"attempt,omitempty"`
	// Ending says that the plan terminates the pod.
	Ending bool `json:"ending,omitempty"`
	// RequestTitle is the name of the next request, such as runtime.v1.RunPodSandboxRequest.
	RequestTitle string `json:"request_title,omitempty"`
	// Request is the exact CRI request, formatted, without secrets; "" if the action makes none.
	Request string `json:"request,omitempty"`
	// Err is the error of the action, for When after; or, if no action is paused, the error of the pod's sync.
	Err string `json:"err,omitempty"`
	// Took is the action's duration, for When after.
	Took time.Duration `json:"took_ns,omitempty"`
	// Changed is what changed on the node since the last stop, one line each.
	Changed []string `json:"changed,omitempty"`
	// Hit is the breakpoint at which it stopped, if it continued to one.
	Hit string `json:"hit,omitempty"`
	// Passed are the milestones that the pod has passed, in order.
	Passed []Milestone `json:"passed,omitempty"`
	// Sandbox is the ID of the pod's sandbox, Netns the path of its network namespace.
	Sandbox string `json:"sandbox,omitempty"`
	Netns   string `json:"netns,omitempty"`
	// Until is when the paused action continues by itself, in Unix nanoseconds; 0 means never.
	Until int64 `json:"until_ns,omitempty"`
	// Attached says that the pod does not belong to the session: a quit does not delete it.
	Attached bool `json:"attached,omitempty"`
	// Only is the part of the pod's life that is stepped; "" means all of it.
	Only Only `json:"only,omitempty"`
}

// Milestone is a point in the pod's life: seen, started, ready, terminating, gone.
type Milestone struct {
	Name trace.MilestoneName `json:"name"`
	// Since is the time since the pod was seen, or for gone since its termination began.
	Since time.Duration `json:"since_ns,omitempty"`
}

// State is the state of an action.
type State string

// The states of an action.
const (
	Done   State = "done"
	Failed State = "failed"
	Next   State = "next"
	Todo   State = "todo"
)

// Action is one action of the plan of a stepped pod.
type Action struct {
	ID    string     `json:"id"`
	Verb  trace.Verb `json:"verb,omitempty"`
	State State      `json:"state"`
	// Dur is its duration; 0 until it is done.
	Dur time.Duration `json:"dur_ns,omitempty"`
	// Err is its error.
	Err string `json:"err,omitempty"`
}

// Waits reports whether an action is paused.
func (s *Stop) Waits() bool { return s.Next != "" }

// Runs reports whether, at a change of the pod's state, actions of its plan are left that run without a stop.
func (s *Stop) Runs() bool {
	if n := len(s.Passed); s.Waits() || s.Err != "" || n > 0 && s.Passed[n-1].Name == trace.MilestoneGone {
		return false
	}
	return slices.ContainsFunc(s.Actions, func(a Action) bool { return a.State == Todo || a.State == Next })
}

// Left returns how long the paused action may still wait before it continues by itself; 0 if it does not.
func (s *Stop) Left(now time.Time) time.Duration {
	if !s.Waits() || s.Until == 0 {
		return 0
	}
	return max(time.Unix(0, s.Until).Sub(now), time.Nanosecond)
}

// Place returns where the pod is paused, for example "before create web".
func (s *Stop) Place() string {
	switch {
	case !s.Waits():
		return "nothing waits"
	case s.When == gate.Call:
		return "before  " + s.Call + "  in  " + s.Next
	case s.When == gate.After:
		return "after  " + s.Next
	}
	return "before  " + s.Next
}

// News returns the last milestone or error in words; "" for none.
func (s *Stop) News() string {
	switch n := len(s.Passed); {
	case s.Err != "":
		return s.Err
	case n > 0 && s.Passed[n-1].Since > 0:
		return string(s.Passed[n-1].Name) + " after " + human.Duration(s.Passed[n-1].Since)
	case n > 0:
		return string(s.Passed[n-1].Name)
	}
	return ""
}

// maxID is the width to which IDs are padded; longer ones, for example images', shift their duration.
const maxID = 48

// Plan draws the plan as text, one action per line.
func (s *Stop) Plan() string {
	widest := 0
	for i := range s.Actions {
		widest = max(widest, utf8.RuneCountInString(s.Actions[i].ID))
	}
	var b strings.Builder
	for i := range s.Actions {
		a := &s.Actions[i]
		mark, dur := "·", ""
		switch a.State {
		case Done:
			mark, dur = "✓", human.Duration(a.Dur)
		case Failed:
			mark, dur = "✗", a.Err
		case Next:
			mark = "▶"
		case Todo:
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s %-*s  %s", mark, min(widest, maxID), a.ID, dur), " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Awaits says which part of the pod's life the session holds next, while no action is held.
func (s *Stop) Awaits() string {
	return "waits for its next " + cmp.Or(string(s.Only), "creation or deletion")
}

// Text returns the stop as the line mode prints it.
func (s *Stop) Text() string {
	if !s.Waits() {
		if news := s.News(); news != "" {
			return "step " + s.Pod.String() + "  " + news
		}
		return "step " + s.Pod.String() + "  " + s.Awaits()
	}
	out := fmt.Sprintf("step %s  paused %s   %d of %d\n", s.Pod, s.Place(), s.Index, s.Total)
	if s.Hit != "" {
		out += "breakpoint: " + s.Hit + "\n"
	}
	if left := s.Left(time.Now()); left > 0 {
		out += "continues by itself in " + human.Duration(left) + ", as the call's deadline is near then\n"
	}
	out += s.Plan()
	switch {
	case s.When == gate.After && s.Err != "":
		out += "\nfailed after " + human.Duration(s.Took) + ": " + s.Err + " (retry does it again)"
	case s.When == gate.After:
		out += "\ntook " + human.Duration(s.Took)
	case s.RequestTitle != "":
		out += "\nnext: " + s.RequestTitle + " (p prints it)"
	}
	if len(s.Changed) > 0 {
		out += "\nchanged since the last stop:\n  " + strings.Join(s.Changed, "\n  ")
	}
	return out
}

// Env returns the environment of a shell on the node: KEY=value for the pod's data.
func (s *Stop) Env() []string {
	return []string{"KUBELOUPE_POD=" + s.Pod.String(), "KUBELOUPE_SANDBOX=" + s.Sandbox, "KUBELOUPE_NETNS=" + s.Netns}
}
