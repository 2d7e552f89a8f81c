// Package keys is the key map of the terminal UI. Help is made from it, so what
// help says is what works.
//
// It owns the bindings and no state, runs no goroutine and publishes no event.
package keys

import "charm.land/bubbles/v2/key"

// Map are the keys that mean the same in every view.
type Map struct {
	Up, Down, Top, Bottom, PageUp, PageDown key.Binding
	Enter, Back                             key.Binding
	Filter, Sort, Freeze, Export            key.Binding
	Views, NextView, PrevView               key.Binding
	Help, Redraw, Quit                      key.Binding
}

// New returns the key map. views are the digits and letters that name a view.
func New(views ...string) Map {
	return Map{
		Up:       Bind("↑ k", "up", "up", "k"),
		Down:     Bind("↓ j", "down", "down", "j"),
		Top:      Bind("g", "first", "g", "home"),
		Bottom:   Bind("G", "last", "G", "end"),
		PageUp:   Bind("PgUp", "a page up", "pgup", "ctrl+b", "ctrl+u"),
		PageDown: Bind("PgDn", "a page down", "pgdown", "ctrl+f", "ctrl+d"),
		Enter:    Bind("Enter", "open", "enter"),
		Back:     Bind("Esc", "back; drop the filter", "esc"),
		Filter:   Bind("/", "filter by regular expression, live", "/"),
		Sort:     Bind("s", "sort by the next column", "s"),
		Freeze:   Bind("Space", "freeze; the stream goes on and is counted", "space", " "),
		Export:   Bind("e", "write what is on screen to a file", "e"),
		Views:    Bind("1-9 vtp", "go to a view", views...),
		NextView: Bind("Tab", "next view", "tab"),
		PrevView: Bind("S-Tab", "previous view", "shift+tab"),
		Help:     Bind("?", "this help", "?"),
		Redraw:   Bind("^L", "draw again", "ctrl+l"),
		Quit:     Bind("q", "quit", "q", "ctrl+c"),
	}
}

// Moving returns the keys that move through rows or lines.
func (m Map) Moving() []key.Binding {
	return []key.Binding{m.Up, m.Down, m.PageUp, m.PageDown, m.Top, m.Bottom}
}

// Global returns the keys that work in every view, in the order in which help
// lists them.
func (m Map) Global() []key.Binding {
	return []key.Binding{
		m.Back, m.Filter, m.Freeze, m.Export, m.Views, m.NextView, m.PrevView, m.Help, m.Redraw, m.Quit,
	}
}

// Bind returns a binding: the text that help shows for the keys, what they do,
// and the keys.
func Bind(label, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(label, does))
}
