package views

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// The sections of the page below the answer.
const (
	sectionStart       = "waterfall"
	sectionCauses      = "causes"
	sectionOtherCauses = "other causes"
	sectionContainers  = "containers"
	sectionEvents      = "Kubernetes Events"
	sectionDecisions   = "decisions"
)

// folds are the keys that close and open sections.
type folds struct{ fold, unfold key.Binding }

func newFolds() folds {
	return folds{fold: keys.Of("close the section", "left"), unfold: keys.Of("open the section", "right")}
}

// section begins a section with a line that closes and opens it, and reports whether it is open. A filter looks into all of them.
func (p *Pod) section(name, count string) (open bool) {
	p.within = name
	if p.filter != nil {
		return true
	}
	p.lines = append(p.lines, podLine{Text: Text{Line: name}, count: count, title: true, section: name})
	return !p.folded[name]
}

// foldKey closes or opens the section under the cursor. Within one that is open, the key that closes goes to its title first.
func (p *Pod) foldKey(msg tea.KeyPressMsg) (took bool) {
	fold, unfold := key.Matches(msg, p.folds.fold), key.Matches(msg, p.folds.unfold)
	if !fold && !unfold || p.cur >= len(p.lines) {
		return fold || unfold
	}
	ln := p.lines[p.cur]
	switch {
	case ln.title:
		p.toggle(ln.section, fold)
	case fold && ln.section != "":
		p.move(slices.IndexFunc(p.lines, func(l podLine) bool { return l.title && l.section == ln.section }))
	}
	return true
}

// toggle closes or opens a section.
func (p *Pod) toggle(name string, fold bool) {
	p.folded[name] = fold
	p.lay()
}

// sectionTitle draws the line above a section: whether it is open, its name, how much it has; above the waterfall the time axis.
func (p *Pod) sectionTitle(ln *podLine, selected bool) string {
	th := p.Theme
	mark := th.Glyphs.Unfolded
	if p.folded[ln.section] {
		mark = th.Glyphs.Folded
	}
	cells := []span{{text: mark + " ", tone: style.Border}, {text: ln.Line, tone: style.Strong}}
	used := 2 + fit.Width(ln.Line)
	switch {
	case ln.section == sectionStart && p.fall != nil && !p.folded[ln.section]:
		cells = append(cells, span{text: fit.Spaces(p.columns.Labels-used) + ticks(p.columns), tone: style.Dim})
	case ln.count != "":
		cells = append(cells, span{text: "  " + ln.count, tone: style.Dim})
	}
	return paintRow(th, cells, p.w, selected)
}
