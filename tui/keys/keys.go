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
	Filter, Sort, Reverse, Follow           key.Binding
	Freeze, Export, Copy, Times, Mouse      key.Binding
	Views, NextView, PrevView               key.Binding
	Help, Redraw, Quit                      key.Binding
	Replay                                  Replay
	Typing                                  Typing
}

// Typing are the keys of a line that is being typed.
type Typing struct{ Done, Drop, Erase, EraseWord, EraseAll key.Binding }

// Replay are the keys that work while a recording is played.
type Replay struct {
	Pause, Forward, Backward, Line, Faster, Slower, NextMark, PrevMark, Seek key.Binding
}

// New returns the key map. views are the digits and letters that name a view.
func New(views ...string) Map {
	return Map{
		Up:       Of("up", "up", "k"),
		Down:     Of("down", "down", "j"),
		Top:      Of("first", "g", "home"),
		Bottom:   Of("last", "G", "end"),
		PageUp:   Of("a page up", "pgup", "ctrl+b", "ctrl+u"),
		PageDown: Of("a page down", "pgdown", "ctrl+f", "ctrl+d"),
		Enter:    Of("open", "enter"),
		Back:     Of("back; drop the filter", "esc"),
		Filter:   Of("filter by words, /expressions/ and fields, live", "/"),
		Sort:     Of("sort by the next column", "s"),
		Reverse:  Of("turn the order round", "S"),
		Follow:   Of("follow the newest row, or stay with this one", "f"),
		Freeze:   Of("freeze; the stream goes on and is counted", "space"),
		Export:   Of("write what is on screen to a file", "e"),
		Copy:     Of("copy the row, or the text, to the clipboard", "y"),
		Times:    Of("times of day, how long ago, or since the start", "T"),
		Mouse:    Of("take the mouse, or leave it to the terminal", "M"),
		Views:    Of("go to a view", views...),
		NextView: Of("next view", "tab"),
		PrevView: Of("previous view", "shift+tab"),
		Help:     Of("this help", "?"),
		Redraw:   Of("draw again", "ctrl+l"),
		Quit:     Of("quit", "q", "ctrl+c"),
		Replay: Replay{
			Pause:    Of("pause the replay, or go on", "space"),
			Forward:  Of("one event on", "."),
			Backward: Of("one event back", ","),
			Line:     Of("on to the next event worth a line", ";"),
			Faster:   Of("faster", ">"),
			Slower:   Of("slower", "<"),
			NextMark: Of("on to the next mark: a cause, a failure", "}"),
			PrevMark: Of("back to the mark before", "{"),
			Seek:     Of("go to a time", ":"),
		},
		Typing: Typing{
			Done:      Of("done", "enter"),
			Drop:      Of("never mind", "esc", "ctrl+c"),
			Erase:     Of("erase a letter", "backspace", "ctrl+h"),
			EraseWord: Of("erase a word", "ctrl+w"),
			EraseAll:  Of("erase all", "ctrl+u"),
		},
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
		m.Back, m.Filter, m.Freeze, m.Copy, m.Export, m.Times, m.Mouse, m.Views, m.NextView, m.PrevView, m.Help, m.Redraw, m.Quit,
	}
}

// All returns the keys of a replay.
func (r Replay) All() []key.Binding {
	return []key.Binding{r.Pause, r.Backward, r.Forward, r.Line, r.PrevMark, r.NextMark, r.Slower, r.Faster, r.Seek}
}

// All returns the keys of a line being typed.
func (t Typing) All() []key.Binding {
	return []key.Binding{t.Done, t.Drop, t.Erase, t.EraseWord, t.EraseAll}
}
