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
	// Refresh takes over what there is to show now.
	Refresh(Frame)
	// Update takes a key or a mouse message; Y is relative to the page.
	Update(tea.Msg) tea.Cmd
	// SetFilter limits what is shown; the nil filter shows all.
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

// Open asks for a page on top of this one; Esc comes back.
type Open struct{ Page Page }

// OpenPod asks for a pod's own view.
type OpenPod struct{ Pod trace.Pod }

// OpenCalls asks for the CRI view, limited to a method.
type OpenCalls struct{ Method string }

// Say asks for a line at the bottom of the screen.
type Say struct {
	Text string
	Bad  bool
}

// Leave asks for the end of the UI.
type Leave struct{}

func send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Ask asks for a line of text; Then makes a message of it.
type Ask struct {
	Label string
	Then  func(string) tea.Msg
}

// Asker is a page that asks for lines of text. Asks is called after each key and returns what it asks for since, nil for nothing: no
// key comes between, as one could before a message.
type Asker interface{ Asks() *Ask }

// Redraw asks for Refresh: the page shows something else now.
type Redraw struct{}

// Fielder is a page whose rows have fields, for filters.
type Fielder interface{ Fields() query.Fields }

// Follower is a page that can stay with the newest row.
type Follower interface{ Following() bool }

// Copier is a page that knows what to copy: a text and what it is, as "the row".
type Copier interface{ Copy() (text, what string) }

// KeyTaker is a page that wants some keys before they get their usual meaning.
type KeyTaker interface{ Takes(tea.KeyPressMsg) bool }
