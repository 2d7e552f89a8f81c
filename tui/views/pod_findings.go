package views

import (
	"cmp"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// causes adds what was found to have made the start, or the end, as slow as it was.
func (p *Pod) causes() {
	if !p.sought {
		return
	}
	p.add(style.Dim, "")
	if len(p.found) == 0 {
		p.add(style.Dim, "CAUSES   none of those that kubeloupe knows")
		return
	}
	p.add(style.Dim, "CAUSES   Enter shows evidence and remedy")
	for i := range p.found {
		p.cause(&p.found[i], i == 0)
	}
}

// cause adds one finding: id, cost, name and the sentence, on as many lines as it takes.
func (p *Pod) cause(f *cause.Finding, first bool) {
	th, tone := p.Theme, style.Plain
	if first && f.Cost > 0 {
		tone = style.Slow
	}
	text := f.Name + ": " + f.Sentence
	if f.Current {
		text = f.Name + " (ongoing): " + f.Sentence
	}
	lead := th.Left(f.ID, 4) + " " + th.Right(style.Known(f.Cost), style.DurWidth) + "  "
	for _, line := range fit.Paragraph(lead, th.Clean(text), p.w-2) {
		if p.filter.MatchString(line) {
			p.lines = append(p.lines, podLine{Text: Text{Line: line, Tone: tone}, finding: f})
		}
	}
}

func (p *Pod) openFinding(f *cause.Finding) tea.Cmd {
	title := fmt.Sprintf("%s  %s  %s", p.pod.Key, f.ID, f.Name)
	return send(Open{NewPager(p.Look, "cause", p.Theme.Clean(title), findingText(p.Theme, f, p.w))})
}

// findingText is all that there is to say of a finding, in lines of w columns.
func findingText(th *style.Theme, f *cause.Finding, w int) []Text {
	doc := facts{th: th}
	wrapped := func(label, text string, tone style.Tone) {
		for _, l := range fit.Wrap(th.Clean(text), max(w-16, 40)) {
			doc.lines = append(doc.lines, Text{Line: th.Left(label, 12) + " " + l, Tone: tone})
			label = ""
		}
	}
	wrapped("what", f.Sentence, style.Strong)
	of := " of the critical path"
	if f.End > 0 {
		of = " of its end"
	}
	doc.add("cost", style.Known(f.Cost)+of, style.Plain)
	doc.add("sure", map[cause.Confidence]string{
		cause.Certain: "certain: the records say so themselves",
		cause.Likely:  "likely: the records fit this, and nothing else that is known",
	}[f.Confidence], style.Plain)
	if f.Current {
		doc.add("now", "ongoing", style.Slow)
	}
	doc.head("evidence")
	for _, e := range f.Evidence {
		lead := style.Clock(e.Time) + "  " + th.Right("#"+style.Count(e.Seq), 8) + "  "
		for _, l := range fit.Paragraph(lead, th.Clean(e.Text), max(w-3, 30+fit.Width(lead))) {
			doc.lines = append(doc.lines, Text{Line: l})
		}
	}
	doc.lines = append(doc.lines, Text{})
	wrapped("remedy", cmp.Or(f.Remedy, style.Unknown), style.Plain)
	doc.lines = append(doc.lines, Text{})
	wrapped("wrong if", cmp.Or(f.RuledOutBy, style.Unknown), style.Plain)
	doc.lines = append(doc.lines, Text{})
	doc.add("read", "docs/causes/"+f.ID+".md of kubeloupe", style.Dim)
	return doc.lines
}
