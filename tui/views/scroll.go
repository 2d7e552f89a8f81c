package views

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// scrolled is which of rows lines comes first after msg, where page of them are shown and top came first.
func (l Look) scrolled(msg tea.Msg, top, rows, page int) int {
	k := l.Keys
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch {
		case key.Matches(msg, k.Up):
			top--
		case key.Matches(msg, k.Down):
			top++
		case key.Matches(msg, k.PageUp):
			top -= page
		case key.Matches(msg, k.PageDown):
			top += page
		case key.Matches(msg, k.Top):
			top = 0
		case key.Matches(msg, k.Bottom):
			top = rows
		}
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			top -= wheel
		} else if msg.Button == tea.MouseWheelDown {
			top += wheel
		}
	}
	return max(min(top, rows-page), 0)
}
