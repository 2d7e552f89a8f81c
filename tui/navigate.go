package tui

import (
	"errors"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// key takes a key: first the box that floats, then what works everywhere, then the page.
func (a *app) key(msg tea.KeyPressMsg) tea.Cmd {
	if a.float != nil {
		return a.floated(msg)
	}
	a.say = views.Say{}
	if taker, ok := a.top().(views.KeyTaker); ok && taker.Takes(msg) {
		return a.give(msg)
	}
	if a.replayKey(msg) {
		return nil
	}
	k := a.look.Keys
	switch {
	case key.Matches(msg, k.Quit):
		return a.quit()
	case key.Matches(msg, k.Back):
		a.back()
	case key.Matches(msg, k.Palette):
		a.palette("")
	case key.Matches(msg, k.Pick):
		a.pickPod()
	case key.Matches(msg, k.Filter):
		a.askFilter()
	case key.Matches(msg, k.Freeze):
		a.freeze()
	case key.Matches(msg, k.Export):
		return a.export()
	case key.Matches(msg, k.Copy):
		return a.copy()
	case key.Matches(msg, k.Learn):
		return a.learn()
	case key.Matches(msg, k.Times):
		a.changeTimes()
	case key.Matches(msg, k.Mouse):
		a.changeMouse()
	case key.Matches(msg, k.Views):
		a.show(a.tabOf(msg.String()))
	case key.Matches(msg, k.NextView):
		a.show(a.neighbour(1))
	case key.Matches(msg, k.PrevView):
		a.show(a.neighbour(len(a.tabs) - 1))
	case key.Matches(msg, k.Help):
		a.help()
	case key.Matches(msg, k.Redraw):
		return tea.ClearScreen
	default:
		return a.give(msg)
	}
	return nil
}

// give hands a key to the page and opens what it asks for.
func (a *app) give(msg tea.KeyPressMsg) tea.Cmd {
	page := a.top()
	if !key.Matches(msg, page.Keys()...) {
		a.sayBriefly("no key " + keys.Label([]string{msg.String()}) + " here: ? lists all keys, : all commands")
		return nil
	}
	cmd := page.Update(msg)
	if asker, ok := page.(views.Asker); ok {
		if ask := asker.Asks(); ask != nil {
			a.open(&prompt{line: newLine(&a.look.Keys, ""), title: ask.Label, then: ask.Then})
		}
	}
	return cmd
}

// neighbour is the next view in steps of by, without those that are left out.
func (a *app) neighbour(by int) int {
	i := a.active
	for range a.tabs {
		if i = (i + by) % len(a.tabs); !a.tabs[i].quiet {
			return i
		}
	}
	return a.active
}

func (a *app) tabOf(digit string) int {
	for i, t := range a.tabs {
		if t.digit == digit {
			return i
		}
	}
	return a.active
}

// show goes to a view.
func (a *app) show(i int) {
	if i != a.active {
		a.before = a.active
	}
	a.chosen.leave(a.tabs[a.active].page)
	a.stack, a.active, a.via = nil, i, -1
	a.refresh()
	a.chosen.arrive(a.tabs[i].page)
	a.refresh()
}

// jump goes to a view on behalf of another page.
func (a *app) jump(page views.Page) {
	from, via := a.active, a.via
	defer func() {
		if a.via = via; from != a.active {
			a.via = from
		}
	}()
	for i, t := range a.tabs {
		if t.page == page {
			a.show(i)
		}
	}
}

// push puts a page on top.
func (a *app) push(page views.Page) {
	a.fit(page)
	a.stack = append(a.stack, page)
	a.refresh()
}

// back takes away, in this order: the filter, the page on top, the learner's panel, the view.
func (a *app) back() {
	switch {
	case a.filters[a.top()] != "":
		_ = a.setFilter("") // an empty filter is valid
	case len(a.stack) > 0:
		delete(a.filters, a.top())
		a.stack = a.stack[:len(a.stack)-1]
		a.refresh()
	case a.look.Scene.Learn:
		a.learn()
	case a.before != a.active:
		a.show(a.before)
		a.before = a.active
	}
}

// askFilter lets the user type a filter that works while it is typed.
func (a *app) askFilter() {
	a.open(&prompt{
		line: newLine(&a.look.Keys, a.filters[a.top()]), title: "filter", help: filterHelp(a.fields()),
		live: a.setFilter,
		drop: func() { _ = a.setFilter("") }, // an empty filter is valid
	})
}

// filterHelp is what can be typed.
func filterHelp(f query.Fields) string {
	out, names := "word !not /regexp/", []string(nil)
	for _, field := range f.All {
		if field.Kind&query.Flag != 0 {
			out += " " + field.Name
		}
		if field.Name != "err" && field.Name != "dur" { // the one is listed as a flag, the other is >500ms
			names = append(names, field.Name)
		}
	}
	if f.Took != "" {
		out += " >500ms"
	}
	if len(names) > 0 {
		out += " FIELD=x, of " + strings.Join(names, " ")
	}
	return out
}

// changeTimes continues to the next way of writing times.
func (a *app) changeTimes() {
	s := a.look.Scene
	s.Times = s.Times.Next()
	a.tell(views.Say{Text: "times: " + s.Times.String()})
}

// changeMouse takes the mouse or leaves it to the terminal.
func (a *app) changeMouse() {
	a.mouse = !a.mouse
	text := "the mouse is the terminal's: it selects text"
	if a.mouse {
		text = "the mouse works here: it selects, opens and scrolls; with Shift it is the terminal's"
	}
	a.tell(views.Say{Text: text})
}

// setFilter filters the page on top. A text that is no filter leaves the last one
// that was in force.
func (a *app) setFilter(text string) error {
	q, err := a.parseFilter(text)
	if err != nil {
		return err
	}
	a.filters[a.top()] = text
	a.top().SetFilter(q)
	a.refresh()
	return nil
}

func (a *app) parseFilter(text string) (*query.Filter, error) {
	q, err := query.ParseLive(text, a.fields())
	if bad, ok := errors.AsType[*query.Error](err); ok {
		return nil, errors.New(bad.Text) // the cursor shows where
	}
	return q, err
}

// checkFilter says what is wrong with a filter.
func (a *app) checkFilter(text string) error {
	_, err := a.parseFilter(text)
	return err
}

// fields is what filters of the page on top can ask for.
func (a *app) fields() query.Fields {
	if p, ok := a.top().(views.Fielder); ok {
		return p.Fields()
	}
	return query.Fields{}
}

// freeze stops the screen, or lets it continue with all that came meanwhile.
func (a *app) freeze() {
	if !a.backlog.frozen {
		a.backlog.frozen = true
		return
	}
	a.apply(a.backlog.take())
	a.setNow()
	a.refresh()
}

// click goes to the tab that was clicked, or tells the page.
func (a *app) click(msg tea.MouseClickMsg) tea.Cmd {
	if a.float != nil { // it is for the keyboard
		a.open(nil)
		return nil
	}
	if msg.Y == 1 && msg.Button == tea.MouseLeft {
		for i, p := range a.places {
			if msg.X >= p.from && msg.X < p.to {
				a.show(i)
			}
		}
		if msg.X >= a.more.from && msg.X < a.more.to {
			a.palette("")
		}
		return nil
	}
	msg.Y -= bodyTop + a.above(a.top())
	if msg.Y < 0 || msg.Y >= a.pageHeight()-a.above(a.top()) {
		return nil
	}
	return a.top().Update(msg)
}
