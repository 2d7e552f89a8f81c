package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// pickStart lets the user choose a start to compare with that of a pod, which is B: what is different about it is the question.
func (a *app) pickStart(pod trace.Pod) {
	others, usual := views.StartsBeside(a.model.Starts(), pod)
	if len(others) == 0 {
		a.tell(views.Say{Text: "there is no other start to compare with", Bad: true})
		return
	}
	var all []choice
	add := func(with trace.Pod, text, does string) {
		all = append(all, choice{text: text, does: does, run: func() tea.Cmd { return a.begin(views.NewBeside(a.look, with, pod)) }})
	}
	for _, s := range others {
		does := "started in " + style.Dur(s.ToStarted)
		if s.Pod == usual {
			does += ", the median"
		}
		add(s.Pod, a.look.Theme.Clean(s.Pod.String())+" "+style.Clock(s.Seen), does)
	}
	a.open(newPicker(&a.look.Keys, picker{title: "compare with", jk: true, find: func(text string) ([]choice, error) {
		return matching(all, text), nil
	}}, ""))
}
