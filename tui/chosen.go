package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// chosen is the pod that stays selected from view to view.
type chosen struct {
	pod     trace.Pod // zero: none yet
	arrived trace.Pod // what the view had selected when it was shown
}

// leave notes the pod that was selected in a view.
func (c *chosen) leave(page views.Page) {
	if p, ok := page.(views.Chooser); ok {
		if pod := p.ChosenPod(); !pod.IsZero() && (pod != c.arrived || c.pod.IsZero()) {
			c.pod = pod
		}
	}
}

// arrive selects the pod in a view.
func (c *chosen) arrive(page views.Page) {
	c.arrived = trace.Pod{}
	if p, ok := page.(views.Chooser); ok {
		if !c.pod.IsZero() {
			p.ChoosePod(c.pod)
		}
		c.arrived = p.ChosenPod()
	}
}

// openPod shows a pod in the Pod view.
func (a *app) openPod(pod trace.Pod) {
	a.jump(a.pod)
	a.pod.Show(pod)
	a.chosen = chosen{pod, pod}
	a.refresh()
}

// pickPod lets the user choose a pod: in a list with pods it is selected, everywhere else it is shown.
func (a *app) pickPod() {
	a.open(newPicker(&a.look.Keys, picker{title: "pod", jk: true, find: a.findPods}, ""))
}

// findPods are the pods whose names have the letters of a text.
func (a *app) findPods(text string) ([]choice, error) {
	states := map[string]string{}
	for _, p := range a.model.Pods() {
		states[p.Key.String()] = string(p.State())
	}
	var all []choice
	for _, name := range a.podNames() {
		all = append(all, choice{text: name, does: states[name], run: func() tea.Cmd { return a.picked(name) }})
	}
	if found := matching(all, text); len(found) > 0 {
		return found, nil
	}
	return nil, a.unknownPod(text)
}

// picked selects a pod on the page, or shows it.
func (a *app) picked(name string) tea.Cmd {
	pod, err := a.findPod(name)
	if err != nil {
		a.tell(views.Say{Text: err.Error(), Bad: true})
		return nil
	}
	if p, ok := a.top().(views.Chooser); ok && a.top() != views.Page(a.pod) && p.ChoosePod(pod) {
		a.chosen = chosen{pod, pod}
		a.refresh()
		return nil
	}
	a.openPod(pod)
	return nil
}
