package tui

import (
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// command is what can be typed in the palette.
//
// Many fields: one for each question that the palette asks about it.
type command struct {
	name, does string
	key        string // the key that does the same, "" none
	arg        string // what can follow, "" nothing
	needs      bool   // it must
	options    func() []string
	// check says what is wrong with an argument; unknown, that none of the options is meant.
	check, unknown func(string) error
	run            func(arg string) tea.Cmd
}

// commands are the views by name, and what can be done.
func (a *app) commands() []command {
	k := &a.look.Keys
	var out []command
	for i, t := range a.tabs {
		if viewName(t.page) != viewName(a.pod) {
			out = append(out, command{name: viewName(t.page), key: t.digit, does: "view " + t.page.Name(), run: func(string) tea.Cmd { a.show(i); return nil }})
		}
	}
	pod := func(name, does string, run func(string) tea.Cmd) command {
		return command{name: name, does: does, arg: "NAMESPACE/NAME", options: a.podNames, unknown: a.unknownPod, run: run}
	}
	simple := func(name, key, does string, run func() tea.Cmd) command {
		return command{name: name, key: key, does: does, run: func(string) tea.Cmd { return run() }}
	}
	view := pod("pod", "view Pod; pod NAMESPACE/NAME shows that one", a.goToPod)
	view.key = a.keyOf(a.pod)
	out = append(out, view,
		pod("why", "the causes of a pod's slow or failed start", a.why),
		pod("logs", "the log of a pod's container, followed", a.logs),
		command{
			name: "filter", key: k.Filter.Help().Key, does: k.Filter.Help().Desc, arg: "CONDITIONS", check: a.checkFilter, run: a.filterBy,
		},
		command{
			name: "theme", does: "colors for a dark or a light background", arg: "dark, light or auto", needs: true,
			options: Themes, unknown: CheckTheme, run: a.changeTheme,
		},
	)
	if a.cfg.Player != nil {
		out = append(out, command{
			name: "goto", does: "go to a time: 12:03:04, +30s and -2m from here, or 50%", arg: "12:03:04, +30s, -2m or 50%", needs: true, check: a.checkTime,
			run: func(text string) tea.Cmd { a.seek(text); return nil },
		})
	}
	return append(out,
		simple("learn", "L", "explain the selected row, for learners", a.learn),
		simple("pick", k.Pick.Help().Key, k.Pick.Help().Desc, func() tea.Cmd { a.pickPod(); return nil }),
		simple("freeze", k.Freeze.Help().Key, k.Freeze.Help().Desc, func() tea.Cmd { a.freeze(); return nil }),
		simple("copy", k.Copy.Help().Key, k.Copy.Help().Desc, a.copy),
		simple("export", k.Export.Help().Key, k.Export.Help().Desc, a.export),
		simple("times", k.Times.Help().Key, k.Times.Help().Desc, func() tea.Cmd { a.changeTimes(); return nil }),
		simple("mouse", k.Mouse.Help().Key, k.Mouse.Help().Desc, func() tea.Cmd { a.changeMouse(); return nil }),
		simple("redraw", k.Redraw.Help().Key, k.Redraw.Help().Desc, func() tea.Cmd { return tea.ClearScreen }),
		simple("help", k.Help.Help().Key, "all keys of this view", func() tea.Cmd { a.help(); return nil }),
		simple("quit", k.Quit.Help().Key, k.Quit.Help().Desc, a.quit),
	)
}

// keyOf is the key that goes to a page.
func (a *app) keyOf(page views.Page) string {
	for _, t := range a.tabs {
		if t.page == page {
			return t.digit
		}
	}
	return ""
}

// podNames are the known pods as NAMESPACE/NAME, in the order of their names.
func (a *app) podNames() []string {
	names := map[string]bool{}
	for _, p := range a.model.Pods() {
		names[p.Key.String()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// findPod is the pod that a user names.
func (a *app) findPod(name string) (trace.Pod, error) {
	pods := a.model.Pods()
	ref, err := lookup.Pod(name, func(yield func(trace.Pod) bool) {
		for _, p := range pods {
			if !yield(p.Key) {
				return
			}
		}
	})
	if err != nil {
		return trace.Pod{}, err
	}
	for _, p := range slices.Backward(pods) { // the newest of that name
		if p.Key.Namespace == ref.Namespace && p.Key.Name == ref.Name {
			return p.Key, nil
		}
	}
	return ref, nil
}

func (a *app) unknownPod(name string) error {
	_, err := a.findPod(name)
	return err
}

// goToPod shows a pod; "" is the one that the Pod view has.
func (a *app) goToPod(name string) tea.Cmd {
	if name == "" {
		a.jump(a.pod)
		return nil
	}
	pod, err := a.findPod(name)
	if err != nil {
		a.tell(views.Say{Text: err.Error(), Bad: true})
		return nil
	}
	a.openPod(pod)
	return nil
}

// why shows a pod with the cursor on its first cause.
func (a *app) why(name string) tea.Cmd {
	cmd := a.goToPod(name)
	a.pod.Why()
	return cmd
}

// logs shows the log of a container of a pod; "" is the pod that the Pod view has.
func (a *app) logs(name string) tea.Cmd {
	pod := a.pod.Current()
	if name != "" {
		var err error
		if pod, err = a.findPod(name); err != nil {
			a.tell(views.Say{Text: err.Error(), Bad: true})
			return nil
		}
	}
	if pod.IsZero() {
		a.tell(views.Say{Text: "no pod is selected", Bad: true})
		return nil
	}
	return a.begin(views.NewLogs(a.look, pod))
}

// filterBy filters the page; "" lets the user type the filter.
func (a *app) filterBy(text string) tea.Cmd {
	if text == "" {
		a.askFilter()
		return nil
	}
	_ = a.setFilter(text) // it was checked
	return nil
}

// changeTheme takes the colors for a background; auto asks the terminal for its own.
func (a *app) changeTheme(name string) tea.Cmd {
	a.cfg.Theme = name
	th := a.look.Theme
	if name != style.Auto {
		th.Fit(th.Profile(), name == style.Dark)
		a.refresh()
	}
	return a.askBackground()
}
