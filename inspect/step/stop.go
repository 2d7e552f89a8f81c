package step

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
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

// maxID is the width to which ids are padded; longer ones, as images', push their
// duration along.
const maxID = 48

// Plan draws the plan as text, one action a line.
func (s Stop) Plan() string {
	widest := 0
	for _, a := range s.Actions {
		widest = max(widest, utf8.RuneCountInString(a.ID))
	}
	var b strings.Builder
	for _, a := range s.Actions {
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
