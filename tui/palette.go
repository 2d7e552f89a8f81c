package tui

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// palette opens the box for commands, views and pods by name, with a text that is typed already.
func (a *app) palette(text string) {
	a.open(newPicker(&a.look.Keys, picker{title: "command, view or pod", prompt: ":", find: a.find}, text))
}

// find returns what a line in the palette can mean.
func (a *app) find(text string) ([]choice, error) {
	text = strings.TrimLeft(text, " :")
	if c, ok := a.timeChoice(text); ok {
		return []choice{c}, nil
	}
	commands := a.commands()
	name, arg, more := strings.Cut(text, " ")
	if i := slices.IndexFunc(commands, func(c command) bool { return c.name == name }); more && i >= 0 {
		return a.argument(commands[i], strings.TrimSpace(arg))
	}
	var all []choice
	if page, ok := a.top().(views.Commander); ok {
		if run, ok := page.Command(text); ok && (more || strings.HasPrefix(text, "!")) {
			return []choice{{text: text, run: run}}, nil
		}
		all = pageChoices(page)
	}
	for _, c := range commands {
		if !slices.ContainsFunc(all, func(o choice) bool { return o.text == c.name }) {
			all = append(all, a.choiceOf(c))
		}
	}
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.text)
	}
	if text != "" {
		for _, pod := range a.podNames() {
			all = append(all, choice{text: pod, does: "pod", whole: true, run: func() tea.Cmd { return a.goToPod(pod) }})
		}
	}
	found := matching(all, strings.TrimSpace(text))
	if len(found) > 0 {
		return found, nil
	}
	if a.cfg.Player != nil && strings.ContainsAny(text[:1], "0123456789+-") {
		if err := a.checkTime(text); err != nil {
			return nil, err
		}
	}
	e := &lookup.NotFoundError{What: "command", Name: text, Others: len(names)}
	if near := human.Nearest(name, names); near != "" {
		e.Near = []string{near}
	}
	return nil, e
}

// pageChoices are the commands of a page.
func pageChoices(page views.Commander) []choice {
	var out []choice
	for _, c := range page.Commands() {
		found := choice{text: c.Name, key: c.Key, does: c.Does}
		if run, ok := page.Command(c.Name); ok && c.Arg == "" {
			found.run = run
		}
		out = append(out, found)
	}
	return out
}

// choiceOf is a command without an argument.
func (a *app) choiceOf(c command) choice {
	out := choice{text: c.name, key: c.key, does: c.does}
	if !c.needs {
		out.run = func() tea.Cmd { return c.run("") }
	}
	return out
}

// argument returns what the argument of a command can be.
func (a *app) argument(c command, arg string) ([]choice, error) {
	if c.check != nil {
		if err := c.check(arg); err != nil {
			return nil, err
		}
	}
	if c.options == nil {
		if c.arg == "" && arg != "" {
			return nil, errors.New(c.name + " takes no argument: remove " + arg)
		}
		if c.needs && arg == "" {
			return []choice{{text: c.name, does: c.arg}}, nil
		}
		return []choice{{text: strings.TrimSpace(c.name + " " + arg), does: c.does, run: func() tea.Cmd { return c.run(arg) }}}, nil
	}
	var all []choice
	for _, o := range c.options() {
		all = append(all, choice{text: c.name + " " + o, run: func() tea.Cmd { return c.run(o) }})
	}
	found := matching(all, strings.TrimSpace(c.name+" "+arg))
	if len(found) > 0 {
		return found, nil
	}
	return nil, c.unknown(arg)
}

// matching returns the choices that have all letters of a text in this order: first the one of that very name, then those that begin with it, then
// the best of the others.
func matching(all []choice, text string) []choice {
	if text == "" {
		return all
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.text
	}
	text = strings.ToLower(text)
	rank := func(m *fuzzy.Match) int {
		switch name := strings.ToLower(m.Str); {
		case name == text:
			return 0
		case strings.HasPrefix(name, text):
			return 1
		case strings.Contains(name, text):
			return 2
		}
		return 3
	}
	found := fuzzy.Find(text, names)
	sorting.Stable(found, func(a, b *fuzzy.Match) int {
		if by := cmp.Compare(rank(a), rank(b)); by != 0 || rank(a) == 3 {
			return by
		}
		return cmp.Compare(a.Index, b.Index)
	})
	var out []choice
	for i := range found {
		m := &found[i]
		c := all[m.Index]
		if c.whole && rank(m) == 3 {
			continue
		}
		c.marks = m.MatchedIndexes
		out = append(out, c)
	}
	return out
}
