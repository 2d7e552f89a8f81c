// Package keys is the key map of the terminal UI. The help is generated from it, so it is always correct.
//
// It owns the bindings and no state, runs no goroutine and publishes no event.
package keys

import "charm.land/bubbles/v2/key"

// Map are the keys that mean the same in every view.
//
// Many fields: one for each key.
type Map struct {
	Up, Down, Top, Bottom, PageUp, PageDown key.Binding
	Enter, Back                             key.Binding
	Palette, Pick                           key.Binding
	Filter, Sort, Reverse, Follow           key.Binding
	ColumnLeft, ColumnRight                 key.Binding
	Freeze, Export, Copy, Times, Mouse      key.Binding
	Learn                                   key.Binding
	Views, NextView, PrevView               key.Binding
	Help, Redraw, Quit                      key.Binding
	Replay                                  Replay
	Typing                                  Typing
	Choosing                                Choosing
	Asked                                   Asked
}

// Typing are the keys of a line that is being typed.
type Typing struct{ Done, Drop, Left, Right, Begin, End, Erase, EraseWord, EraseAll key.Binding }

// Asked are the keys that answer a question.
type Asked struct{ Yes, No key.Binding }

// Choosing are the keys of a list that is searched by typing.
type Choosing struct{ Up, Down, Complete key.Binding }

// Replay are the keys that work while a recording is played.
type Replay struct {
	Pause, Forward, Backward, Line, Faster, Slower, NextMark, PrevMark key.Binding
}

// New returns the key map. views are the digits and letters that name a view.
func New(views ...string) Map {
	return Map{
		Up:          Of("up", "up", "k"),
		Down:        Of("down", "down", "j"),
		Top:         Of("first", "g", "home"),
		Bottom:      Of("last", "G", "end"),
		PageUp:      Of("page up", "pgup", "ctrl+b", "ctrl+u"),
		PageDown:    Of("page down", "pgdown", "ctrl+f", "ctrl+d"),
		Enter:       Of("open", "enter"),
		Back:        Of("back; clear the filter", "esc"),
		Palette:     Of("command, view or pod by name", ":"),
		Pick:        Of("choose a pod", "P"),
		Filter:      Of("filter by words, /expressions/ and fields, live", "/"),
		Sort:        Of("sort by the chosen column, or the next one", "s"),
		ColumnLeft:  Of("choose the column to the left, to sort by", "left"),
		ColumnRight: Of("choose the column to the right, to sort by", "right"),
		Reverse:     Of("reverse the sort order", "S"),
		Follow:      Of("follow the newest row on or off", "f"),
		Freeze:      Of("freeze the view; new events are counted", "space"),
		Export:      Of("write the screen to a file", "e"),
		Copy:        Of("copy the row or text to the clipboard", "c", "y"),
		Times:       Of("show times as time of day, age, or time since the start", "T"),
		Learn:       Of("explain the selected row, for learners", "L"),
		Mouse:       Of("mouse support on or off", "M"),
		Views:       Of("go to a view", views...),
		NextView:    Of("next view", "tab"),
		PrevView:    Of("previous view", "shift+tab"),
		Help:        Of("this help", "?"),
		Redraw:      Of("redraw", "ctrl+l"),
		Quit:        Of("quit", "q", "ctrl+c"),
		Replay: Replay{
			Pause:    Of("pause or resume the replay", "space"),
			Forward:  Of("one event forward", "."),
			Backward: Of("one event back", ","),
			Line:     Of("to the next important event", ";"),
			Faster:   Of("faster", ">"),
			Slower:   Of("slower", "<"),
			NextMark: Of("to the next mark: a cause or a failure", "}"),
			PrevMark: Of("to the previous mark", "{"),
		},
		Typing: Typing{
			Done:      Of("done", "enter"),
			Drop:      Of("cancel", "esc", "ctrl+c"),
			Left:      Of("one letter back", "left"),
			Right:     Of("one letter forward", "right"),
			Begin:     Of("to the beginning", "home", "ctrl+a"),
			End:       Of("to the end", "end", "ctrl+e"),
			Erase:     Of("erase a letter", "backspace", "ctrl+h"),
			EraseWord: Of("erase a word", "ctrl+w"),
			EraseAll:  Of("erase all before the cursor", "ctrl+u"),
		},
		Asked: Asked{
			Yes: Of("yes", "y", "ctrl+c"),
			No:  Of("stay", "n", "esc"),
		},
		Choosing: Choosing{
			Up:       Of("previous choice", "up", "ctrl+p"),
			Down:     Of("next choice", "down", "ctrl+n"),
			Complete: Of("complete", "tab"),
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
		m.Back, m.Palette, m.Pick, m.Filter, m.Freeze, m.Copy, m.Export, m.Learn, m.Times, m.Mouse, m.NextView, m.PrevView, m.Help, m.Redraw, m.Quit,
	}
}

// All returns the keys of a replay.
func (r Replay) All() []key.Binding {
	return []key.Binding{r.Pause, r.Backward, r.Forward, r.Line, r.PrevMark, r.NextMark, r.Slower, r.Faster}
}

// All returns the keys of a line being typed.
func (t Typing) All() []key.Binding {
	return []key.Binding{t.Done, t.Drop, t.Left, t.Right, t.Begin, t.End, t.Erase, t.EraseWord, t.EraseAll}
}

// All returns the keys of a list that is searched by typing.
func (c Choosing) All() []key.Binding { return []key.Binding{c.Up, c.Down, c.Complete} }
