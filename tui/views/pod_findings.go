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
	return send(Open{NewPager(p.Look, "cause", p.Theme.Clean(title), findingText(p.Theme, f))})
}

// findingText is all that there is to say of a finding.
func findingText(th *style.Theme, f *cause.Finding) []Text {
	doc := facts{th: th}
	doc.add("what", f.Sentence, style.Strong)
	doc.add("cost", f.CostText(0), toneIf(f.Current, style.Slow))
	doc.add("sure", map[cause.Confidence]string{
		cause.Certain: "certain: the records say so themselves",
		cause.Likely:  "likely: the records fit this, and nothing else that is known",
	}[f.Confidence], style.Plain)
	doc.head("evidence")
	for _, e := range f.Evidence {
		lead := style.Clock(e.Time) + "  " + th.Right("#"+style.Count(e.Seq), 8) + "  "
		doc.lines = append(doc.lines, Text{Line: lead + th.Clean(e.Text), Indent: fit.Width(lead)})
	}
	for _, part := range [][2]string{{"remedy", f.Remedy}, {"wrong if", f.RuledOutBy}} {
		doc.lines = append(doc.lines, Text{})
		doc.add(part[0], cmp.Or(part[1], style.Unknown), style.Plain)
	}
	doc.lines = append(doc.lines, Text{})
	doc.add("read", "docs/causes/"+f.ID+".md of kubeloupe", style.Dim)
	return doc.lines
}
