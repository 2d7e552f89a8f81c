package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// float is a box over the page that takes all keys until it closes: a line that is typed, a list to choose from, a question.
type float interface {
	// key takes a key. done says that the box closes.
	key(k *keys.Map, msg tea.KeyPressMsg) (done bool, cmd tea.Cmd)
	// paste takes text that was pasted.
	paste(text string)
	// box draws it for a page of w columns and h lines; x and y are its upper left corner.
	box(th *style.Theme, k *keys.Map, w, h int) (lines []string, x, y int)
}

// open shows a box over the page; nil closes the one that is shown.
func (a *app) open(f float) { a.float = f }

// floated takes a key for the box.
func (a *app) floated(msg tea.KeyPressMsg) tea.Cmd {
	f := a.float
	done, cmd := f.key(&a.look.Keys, msg)
	if done && a.float == f { // it may have opened another one
		a.open(nil)
	}
	return cmd
}

// over draws the box over the lines of a page.
func (a *app) over(lines []string) []string {
	h := a.bodyHeight()
	for len(lines) < h {
		lines = append(lines, "")
	}
	box, x, y := a.float.box(a.look.Theme, &a.look.Keys, a.w, h)
	return strings.Split(style.Over(strings.Join(lines[:h], "\n"), box, x, max(y, 0)), "\n")
}
