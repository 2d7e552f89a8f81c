package views

import (
	"cmp"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// causes adds what was found to have made the start, or the end, as slow as it was, beyond what the answer has.
func (p *Pod) causes() {
	if p.report == nil {
		return
	}
	r, rest := p.report, len(p.report.Findings)
	name, count := sectionCauses, "Enter shows evidence and remedy"
	if r.Lead != nil {
		name, rest = sectionOtherCauses, rest-1
	}
	switch {
	case rest == 0 && r.Lead != nil:
		return
	case rest == 0:
		count = "none of those that kubeloupe knows"
	}
	if !p.section(name, count) {
		return
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f != r.Lead {
			p.cause(f)
		}
	}
}

// cause adds one finding: id, cost, name and the sentence, on as many lines as it takes.
func (p *Pod) cause(f *cause.Finding) {
	th := p.Theme
	text := f.Name + ": " + f.Sentence
	if f.Current {
		text = f.Name + " (ongoing): " + f.Sentence
	}
	lead := "  " + th.Left(f.ID, 4) + " " + th.Right(style.Known(f.Cost), style.DurWidth) + "  "
	for _, line := range fit.Paragraph(lead, th.Clean(text), p.w-2) {
		if p.filter.MatchString(line) {
			p.lines = append(p.lines, podLine{Text: Text{Line: line}, finding: f, section: p.within})
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
