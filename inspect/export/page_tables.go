package export

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
)

// tables writes how long each phase took, and the waits.
func (p *page) tables(f *waterfall.Waterfall) {
	p.WriteString("<div class=\"tables\">\n")
	p.table("Seen to started", longestFirst(parts(f.Path, f.Length())))
	if hasTail(f) {
		p.table("Started to ready", longestFirst(parts(f.Tail, f.Ready-f.Started)))
	}
	var waits []part
	for _, x := range f.Waits {
		waits = append(waits, part{Part: waterfall.Part{Kind: waterfall.SegmentWait, Wait: x.For}, Dur: x.Dur, Share: waterfall.Percent(x.Dur, f.Length())})
	}
	p.table("Waits on the critical path", waits)
	p.WriteString("</div>\n")
}

func (p *page) table(title string, of []part) {
	p.say("<section>\n<h2>%s</h2>\n", title)
	if len(of) == 0 {
		p.WriteString("<p class=\"none\">none</p>\n</section>\n")
		return
	}
	p.WriteString("<table>\n<thead><tr><th>phase</th><th class=\"n\">time</th><th class=\"n\">share</th><th></th></tr></thead>\n<tbody>")
	for _, x := range of {
		p.say("\n<tr class=\"%s\"><td>%s</td><td class=\"n\">%s</td>", fmt.Sprint(x.Kind), x.Label(), x.Time())
		p.printf("<td class=\"n\">%d %%</td><td class=\"bar\">", x.Share)
		p.say("<svg class=\"kl-critical kl-%s\" width=\"100\" height=\"8\" aria-hidden=\"true\">", fmt.Sprint(x.Stage()))
		p.printf("<rect class=\"kl-bar\" width=\"%d\" height=\"8\" rx=\"2\"/></svg></td></tr>", x.Share)
	}
	p.WriteString("\n</tbody>\n</table>\n</section>\n")
}
