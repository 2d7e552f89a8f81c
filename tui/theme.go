package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Themes returns what Config.Theme may be.
func Themes() []string { return []string{style.Dark, style.Light, style.Auto} }

// CheckTheme reports what Config.Theme may not be.
func CheckTheme(name string) error { return style.CheckName(name) }

// askBackground asks the terminal for its background, where the theme depends on it. One that does not answer is dark.
func (a *app) askBackground() tea.Cmd {
	th := a.look.Theme
	if a.cfg.Theme == style.Dark || a.cfg.Theme == style.Light || th.ASCII || !th.Colored() {
		return nil
	}
	return tea.RequestBackgroundColor
}

// recolor fits the theme to what is now known of the terminal.
func (a *app) recolor(msg tea.Msg) {
	th := a.look.Theme
	switch msg := msg.(type) {
	case tea.ColorProfileMsg:
		if p := msg.Profile; p != colorprofile.Unknown {
			th.Fit(p, th.Dark())
		}
	case tea.BackgroundColorMsg:
		if a.cfg.Theme == "" || a.cfg.Theme == style.Auto {
			th.Fit(th.Profile(), msg.IsDark())
		}
	}
	a.refresh()
}
