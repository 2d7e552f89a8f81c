package views

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Page is one screen below the header.
type Page interface {
	// Name is one word, for the tab and the name of an export.
	Name() string
	// SetSize gives the box to draw in.
	SetSize(w, h int)
	// Refresh reads the current state.
	Refresh(Frame)
	// Update takes a key or a mouse message; Y is relative to the page.
	Update(tea.Msg) tea.Cmd
	// SetFilter sets the filter; nil shows everything.
	SetFilter(*query.Filter)
	// View draws the page: no more lines than its height.
	View() string
	// Keys are the keys that Update acts on, for help.
	Keys() []key.Binding
}

// Frame is what pages draw from. It is only valid during Refresh.
type Frame struct {
	Model   *model.Model
	History *History
	Now     time.Time
}

// Look is how pages look and what keys they take.
type Look struct {
	Theme *style.Theme
	Keys  keys.Map
	Scene *Scene
}

// Open requests a page on top of this one; Esc goes back.
type Open struct{ Page Page }

// OpenPod requests a pod's view.
type OpenPod struct{ Pod trace.Pod }

// OpenCalls requests the CRI view, limited to a method.
type OpenCalls struct{ Method string }

// Say requests a line at the bottom of the screen.
type Say struct {
	Text string
	Bad  bool
}

// Leave requests that the UI closes.
type Leave struct{}

func send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Ask requests a line of text from the user; Then converts it to a message.
type Ask struct {
	Label string
	Then  func(string) tea.Msg
}

// Asker is a page that requests lines of text. Asks is called after each key and returns the new request, nil for none. So no key
// can arrive in between, which could happen before a message.
type Asker interface{ Asks() *Ask }

// Redraw requests a Refresh: the content of the page has changed.
type Redraw struct{}

// Fielder is a page whose rows have fields, for filters.
type Fielder interface{ Fields() query.Fields }

// Follower is a page that can stay with the newest row.
type Follower interface{ Following() bool }

// Copier is a page that knows what to copy: a text and its name, such as "the row".
type Copier interface{ Copy() (text, what string) }

// Crumber is a page that knows what it shows, in one or two words, such as shop/cart or RunPodSandbox.
type Crumber interface{ Crumb() string }

// Titled is a page with a title, and a count at its right end; both are clean.
type Titled interface{ Title() (title, count string) }

// Paneled is a page that draws its own panels where Scene.Panels says so.
type Paneled interface{ Panels() }

// KeyTaker is a page that wants some keys before they get their usual meaning.
type KeyTaker interface{ Takes(tea.KeyPressMsg) bool }
