package step

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Stop is where a stepped pod waits for a person: before one action of its plan.
type Stop struct {
	Pod trace.Pod
	// Index is the place in the plan of the action that waits, from 1; Total is how
	// many actions the plan has as known now.
	Index, Total int
	// Actions are the plan's, in the order in which they are gone through.
	Actions []Action
	// Next is the id of the action that waits, as "create web".
	Next string
	// RequestTitle names the request that comes next, as runtime.v1.RunPodSandboxRequest.
	RequestTitle string
	// Request is the exact CRI request, pretty, without secrets; "" when the
	// action makes none.
	Request string
	// Changed is what changed on the node since the last stop, one line each.
	Changed []string
}

// State is how far an action has come.
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
	ID    string
	Verb  string
	State State
	// Dur is how long it took; 0 until done.
	Dur time.Duration
	// Err is why it failed.
	Err string
}

// Plan draws the plan as text, one action a line.
func (s Stop) Plan() string {
	var b strings.Builder
	for _, a := range s.Actions {
		mark, dur := "·", ""
		switch a.State {
		case Done:
			mark, dur = "✓", a.Dur.Round(100*time.Microsecond).String()
		case Failed:
			mark, dur = "✗", a.Err
		case Next:
			mark = "▶"
		case Todo:
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s %-24s %s", mark, a.ID, dur), " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
