package learn

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Lesson explains one thing.
type Lesson struct {
	Title string
	Text  string // two to four short sentences
	Read  string // a KEP or a page of documentation
}

// Of is the lesson about a row of a waterfall.
func Of(r waterfall.Row) Lesson {
	r.Label = strings.TrimSpace(r.Label) // a layout indents it
	switch r.Kind {
	case waterfall.RowSeen:
		return kinds[r.Kind]
	case waterfall.RowWait:
		return Wait(r.Wait)
	case waterfall.RowCall:
		return Call(r.Label)
	case waterfall.RowSpan:
		if l, ok := spans[r.Topic]; ok {
			return l
		}
		return kinds[waterfall.RowSpan]
	case waterfall.RowOp:
		return op(r.Label)
	case waterfall.RowAction:
		return Action(r.Verb)
	}
	return kinds[waterfall.RowAction]
}

// Segment is the lesson about a part of the critical path.
func Segment(p waterfall.Part) Lesson {
	switch {
	case p.Kind == waterfall.SegmentUnexplained:
		return unexplained
	case p.Kind == waterfall.SegmentWait:
		return Wait(p.Wait)
	case p.Probe != "":
		return op(p.Label())
	}
	return Action(p.Verb)
}

// Action is the lesson about a step of a plan, by its verb.
func Action(verb trace.Verb) Lesson {
	if l, ok := verbs[verb]; ok {
		return l
	}
	return kinds[waterfall.RowAction]
}

// Wait is the lesson about a kind of wait.
func Wait(kind trace.WaitKind) Lesson {
	if l, ok := waits[kind]; ok {
		return l
	}
	return kinds[waterfall.RowWait]
}

// Call is the lesson about a method of the container runtime or of a CSI driver.
func Call(method string) Lesson {
	if l, ok := calls[method]; ok {
		return l
	}
	return kinds[waterfall.RowCall]
}

func op(label string) Lesson {
	if l, ok := ops[label]; ok {
		return l
	}
	return kinds[waterfall.RowOp]
}
