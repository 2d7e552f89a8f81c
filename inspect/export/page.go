package export

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// page is the HTML of a waterfall. It is not a template of html/template: that finds methods by their names, and then the linker keeps
// every method of the whole program.
type page struct{ strings.Builder }

// say writes HTML. Each argument of a %s is text, and is escaped.
func (p *page) say(format string, text ...string) {
	args := make([]any, len(text))
	for i, t := range text {
		args[i] = escape(t)
	}
	p.printf(format, args...)
}

// printf writes HTML. Arguments are numbers, or ours.
func (p *page) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// head writes all before the body. The policy lets a browser run and load only what is ours.
func (p *page) head(f *waterfall.Waterfall, style string) {
	p.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	p.printf("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src %s; script-src %s; "+
		"base-uri 'none'; form-action 'none'\">\n", hashOf(style), hashOf(pageScript))
	p.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n")
	p.say("<title>%s · kubeloupe</title>\n", f.Pod.String())
	p.WriteString("<style>" + style + "</style>\n</head>\n<body>\n")
}

// header writes the name of the pod, the figures and the reason.
func (p *page) header(f *waterfall.Waterfall) {
	p.say("<header>\n<h1>%s</h1>\n<p class=\"when\">", f.Pod.String())
	if f.Phase != "" {
		p.say("%s · ", f.Phase)
	}
	if f.Source != "" {
		p.say("from %s · ", string(f.Source))
	}
	p.say("seen %s</p>\n<dl class=\"figures\">", f.Origin.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	for _, g := range figures(f) {
		p.say("\n<div><dt>%s</dt><dd>%s</dd></div>", g.Name, g.Value)
	}
	p.say("\n</dl>\n<p class=\"why\">%s</p>", sentence(human.Line(f.Why())))
	if f.Incomplete {
		p.WriteString("\n<p class=\"warn\">Records of this start are missing; what is shown may have holes.</p>")
	}
	p.WriteString("\n</header>\n")
}

// causes writes what the rules found, each with its evidence.
func (p *page) causes(found []cause.Finding) {
	if len(found) == 0 {
		return
	}
	p.WriteString("<section>\n<h2>Causes</h2>")
	for _, c := range found {
		p.say("\n<article>\n<h3><code>%s</code> %s <small>%s · %s", c.ID, c.Name, string(c.Confidence), human.Duration(c.Cost))
		if c.Current {
			p.WriteString(" · ongoing")
		}
		p.say("</small></h3>\n<p>%s</p>\n<dl>\n<dt>do</dt><dd>%s</dd>\n<dt>wrong if</dt><dd>%s</dd>\n</dl>", c.Sentence, c.Remedy, c.RuledOutBy)
		p.evidence(c.Evidence)
		p.WriteString("\n</article>")
	}
	p.WriteString("\n</section>\n")
}

func (p *page) evidence(found []cause.Evidence) {
	if len(found) == 0 {
		return
	}
	records := "records"
	if len(found) == 1 {
		records = "record"
	}
	p.printf("\n<details><summary>Evidence: %d %s</summary>\n<table>", len(found), records)
	for _, e := range found {
		p.printf("\n<tr><td class=\"n\">#%d</td>", e.Seq)
		p.say("<td><time>%s</time></td><td>%s</td></tr>", e.Time.UTC().Format("15:04:05.000"), e.Text)
	}
	p.WriteString("\n</table></details>")
}
