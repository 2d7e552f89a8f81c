package views

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// paneHead is the heading of a table.
const paneHead = 1

// sides is how many lines and columns the border of a pane takes.
func (p *Resources) sides() int {
	if p.Scene.Panels {
		return style.PanelSides
	}
	return 0
}

// wanted reports whether a pane has anything to show. The containers are always shown: without any, the table says what to set.
func (p *Resources) wanted(i int) bool {
	if of, _ := p.panes[i].Counts(); of > 0 {
		return true
	}
	shown, _ := p.Counts()
	return i == paneOwners && (p.filter == nil || shown == 0)
}

// lay distributes the lines: each table gets a few rows, then those of which there are most the rest, the one with the cursor first.
func (p *Resources) lay() {
	if !p.moved {
		p.at = 0
	}
	if !p.wanted(p.at) {
		p.at = p.step(1)
	}
	left := p.h - 1
	order := []int{p.at, paneRefused, paneNodes, paneDevices, paneClaims, paneOwners}
	rows := make([]int, len(p.panes))
	drawn := make([]bool, len(p.panes))
	for _, least := range []int{1, 0} { // one row of each, then more
		for _, i := range order {
			n, _ := p.panes[i].Counts()
			n = max(n, 1)
			if least == 1 {
				if need := paneHead + p.sides() + 1; p.wanted(i) && !drawn[i] && need <= left {
					drawn[i], rows[i], left = true, 1, left-need
				}
				continue
			}
			if drawn[i] {
				more := min(left, max(min(n, p.panes[i].most)-rows[i], 0))
				rows[i], left = rows[i]+more, left-more
			}
		}
	}
	for _, i := range append([]int{p.at}, paneNodes, paneOwners, paneClaims, paneDevices, paneRefused) {
		if n, _ := p.panes[i].Counts(); drawn[i] {
			more := min(left, max(n-rows[i], 0))
			rows[i], left = rows[i]+more, left-more
		}
	}
	p.notes = nil
	if drawn[paneClaims] && left > 0 {
		p.claims.SetSize(p.w-p.sides(), paneHead+rows[paneClaims])
		p.notes = p.claimNotes(p.w - p.sides())
		p.notes = p.notes[:min(len(p.notes), left)]
		left -= len(p.notes)
	}
	if drawn[paneOwners] { // it is the last
		rows[paneOwners] += max(left, 0)
	}
	from := 1
	for i := range p.panes {
		q := &p.panes[i]
		q.lines, q.from = 0, from
		if drawn[i] {
			q.lines = paneHead + p.sides() + rows[i]
			q.SetSize(p.w-p.sides(), paneHead+rows[i])
		}
		if i == paneClaims {
			q.lines += len(p.notes)
		}
		from += q.lines
		q.blur(i != p.at)
	}
}

// View implements Page.
func (p *Resources) View() string {
	if p.w <= 0 || p.h <= 0 {
		return ""
	}
	out := []string{p.head()}
	for i := range p.panes {
		q := &p.panes[i]
		if q.lines == 0 {
			continue
		}
		lines := strings.Split(q.View(), "\n")
		if i == paneClaims {
			for _, note := range p.notes {
				lines = append(lines, p.Theme.Paint(style.Fail, note))
			}
		}
		if p.Scene.Panels {
			out = append(out, p.Theme.Panel(style.Panel{Title: q.title, Count: p.count(i), Focus: i == p.at}, lines, p.w, q.lines)...)
			continue
		}
		for len(lines) < q.lines {
			lines = append(lines, "")
		}
		out = append(out, lines...)
	}
	return strings.Join(out[:min(len(out), p.h)], "\n")
}

// count is how many rows a pane has; of the NUMA nodes, how many there are.
func (p *Resources) count(i int) string {
	if i == paneNodes {
		return style.Count(len(p.res.NUMA))
	}
	return p.panes[i].Count()
}

// step returns the next pane in a direction that has anything to show; the same one if there is no other.
func (p *Resources) step(by int) int {
	n := len(p.panes)
	for i := (p.at + by + n) % n; i != p.at; i = (i + by + n) % n {
		if p.wanted(i) {
			return i
		}
	}
	return p.at
}

// focus moves the cursor to a pane.
func (p *Resources) focus(at int) {
	p.at, p.moved = at, true
	p.lay()
}

// Update implements Page.
func (p *Resources) Update(msg tea.Msg) tea.Cmd {
	if cmd, took := p.do(msg, p.panes[p.at].subject()); took {
		return cmd
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if p.across(msg) {
			return send(Redraw{})
		}
	case tea.MouseClickMsg:
		return p.click(msg)
	}
	cmd := p.panes[p.at].Update(msg)
	return tea.Batch(cmd, send(Redraw{})) // the bars show what the selected container has
}

// across moves the cursor to another table: by the key for it, or over the edge of this one.
func (p *Resources) across(msg tea.KeyPressMsg) bool {
	k := p.Look.Keys
	first, last := p.panes[p.at].ends()
	switch {
	case key.Matches(msg, p.next):
		p.focus(p.step(1))
	case key.Matches(msg, k.Down) && last && p.step(1) > p.at:
		p.focus(p.step(1))
		p.panes[p.at].home()
	case key.Matches(msg, k.Up) && first && p.step(-1) < p.at:
		p.focus(p.step(-1))
		p.panes[p.at].end()
	default:
		return false
	}
	return true
}

// click selects a row of the table under the mouse.
func (p *Resources) click(msg tea.MouseClickMsg) tea.Cmd {
	for i := range p.panes {
		q := &p.panes[i]
		if msg.Y < q.from || msg.Y >= q.from+q.lines {
			continue
		}
		msg.Y -= q.from + p.sides()/2
		if i != p.at { // it takes a second click to open
			q.Update(msg)
			p.focus(i)
			return send(Redraw{})
		}
		return tea.Batch(q.Update(msg), send(Redraw{}))
	}
	return nil
}
