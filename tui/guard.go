package tui

import (
	"fmt"
	"runtime/debug"

	tea "charm.land/bubbletea/v2"
)

// guard turns a panic of the UI into an orderly end: the terminal is restored
// and Run returns it as an error.
type guard struct {
	app     *app
	failure error
}

// failedMsg is a panic in a command.
type failedMsg struct{ err error }

// Init implements tea.Model.
func (g *guard) Init() tea.Cmd { return g.safe(g.app.init()) }

// Update implements tea.Model.
func (g *guard) Update(msg tea.Msg) (m tea.Model, cmd tea.Cmd) {
	m = g
	if f, ok := msg.(failedMsg); ok && g.failure == nil {
		g.failure = f.err
	}
	if g.failure != nil {
		return g, tea.Quit
	}
	defer func() {
		if r := recover(); r != nil {
			g.failure = failed(r)
			cmd = tea.Quit
		}
	}()
	return g, g.safe(g.app.update(msg))
}

// View implements tea.Model.
func (g *guard) View() (v tea.View) {
	defer func() {
		if r := recover(); r != nil {
			g.failure = failed(r)
			v = screen("the terminal UI failed", g.app.mouse)
		}
	}()
	if g.failure != nil {
		return screen("the terminal UI failed", g.app.mouse)
	}
	return screen(g.app.view(), g.app.mouse)
}

// screen is a view on the alternate screen, with the mouse or without.
func screen(content string, mouse bool) tea.View {
	v := tea.NewView(content)
	v.AltScreen = true
	if mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// safe makes a panic in a command a message.
func (g *guard) safe(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = failedMsg{failed(r)}
			}
		}()
		return g.wrap(cmd())
	}
}

// wrap guards the commands inside a batch, too.
func (g *guard) wrap(msg tea.Msg) tea.Msg {
	if b, ok := msg.(tea.BatchMsg); ok {
		for i, c := range b {
			b[i] = g.safe(c)
		}
	}
	return msg
}

func failed(r any) error {
	return fmt.Errorf("terminal UI: panic: %v\n%s", r, debug.Stack())
}
