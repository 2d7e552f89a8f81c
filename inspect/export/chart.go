package export

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// chart draws the time axis and the rows.
func (p *picture) chart(b *strings.Builder) {
	b.WriteString("<defs><pattern id=\"kl-hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">" +
		"<rect class=\"kl-hatch\" width=\"2\" height=\"5\"/></pattern></defs>\n")
	for _, at := range ticks(p.f.End, (pictureWidth-margin-p.left)/90) {
		fmt.Fprintf(b, "<path class=\"kl-grid\" d=\"M%s %dV%d\"/>\n", px(p.x(at)), p.top+axisHeight-10, p.bottom())
		text(b, p.x(at), float64(p.top+axisHeight-16), "kl-tick", tickText(at))
	}
	p.milestones(b)
	for i := range p.rows {
		p.row(b, i)
	}
}

// milestones marks when points of the pod's life were reached. Names that would meet lean apart, or are one.
func (p *picture) milestones(b *strings.Builder) {
	started, ready := p.f.Started, p.f.Ready
	switch apart := float64(ready-started) * p.scale; {
	case started < 0:
	case ready < started:
		p.milestone(b, started, "started", "")
	case apart < 4:
		p.milestone(b, ready, "started, ready", "")
	case apart < 60:
		p.milestone(b, started, "started", " kl-before")
		p.milestone(b, ready, "ready", " kl-behind")
	default:
		p.milestone(b, started, "started", "")
		p.milestone(b, ready, "ready", "")
	}
}

func (p *picture) milestone(b *strings.Builder, at time.Duration, name, lean string) {
	fmt.Fprintf(b, "<path class=\"kl-mark\" d=\"M%s %dV%d\"><title>%s %s</title></path>\n",
		px(p.x(at)), p.top+axisHeight-10, p.bottom()+4, name, human.Duration(at))
	fmt.Fprintf(b, "<text class=\"kl-mark-name%s\" x=\"%s\" y=\"%d\">%s</text>\n", lean, px(p.x(at)), p.bottom()+16, name)
}

// row draws one row: label, bar, what is said behind it; all that is known as its title.
func (p *picture) row(b *strings.Builder, i int) {
	r, y := p.rows[i], p.top+axisHeight+rowHeight*i
	fmt.Fprintf(b, "<g class=\"kl-row %s\">\n<title>%s</title>\n", p.class(i), multiline(lines(about(r))))
	fmt.Fprintf(b, "<rect class=\"kl-strip\" x=\"8\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>\n", y, pictureWidth-16, rowHeight)
	if r.Critical {
		fmt.Fprintf(b, "<rect class=\"kl-rail\" x=\"10\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", y+3, railWidth, rowHeight-6)
	}
	indent := float64(r.Depth) * 2 * advance
	room := columns(p.left-margin-indent) - 1
	text(b, margin+indent, float64(y+15), "kl-label", fit.Cut(human.Line(r.Text()), room, fit.Ellipsis))
	height := 12
	if r.Depth > 0 {
		height = 8
	}
	width := max(float64(r.Dur())*p.scale, 2)
	fmt.Fprintf(b, "<rect class=\"kl-bar\" x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\" rx=\"2\"/>\n",
		px(p.x(r.Start)), y+(rowHeight-height)/2, px(width), height)
	if after := p.after(i); after != "" {
		p.say(b, p.x(r.Start)+width, p.x(r.Start), float64(y+15), after)
	}
	b.WriteString("</g>\n")
}

// say puts text behind a bar, or before it where there is more room.
func (p *picture) say(b *strings.Builder, end, start, y float64, s string) {
	behind, before := columns(pictureWidth-margin-end)-1, columns(start-p.left)-1
	if n := len([]rune(s)); n > behind && before > behind {
		fmt.Fprintf(b, "<text class=\"kl-after kl-before\" x=\"%s\" y=\"%s\">%s</text>\n", px(start-advance), px(y), escape(fit.Cut(s, before, fit.Ellipsis)))
		return
	}
	text(b, end+advance, y, "kl-after", fit.Cut(s, max(behind, 1), fit.Ellipsis))
}

// after is what is said behind a row's bar.
func (p *picture) after(i int) string {
	r := p.rows[i]
	if r.Kind == waterfall.RowSeen {
		return ""
	}
	s := human.Duration(r.Dur())
	if r.Open {
		s += " …"
	}
	if i == p.slow {
		s += fmt.Sprintf(" ◀ %d %%", p.share)
	}
	if r.Note != "" {
		s += "  " + human.Line(r.Note)
	}
	if r.Err != "" {
		s += "  failed: " + human.Line(r.Err)
	}
	return s
}

// multiline escapes lines and keeps them apart.
func multiline(in []string) string {
	for i := range in {
		in[i] = escape(in[i])
	}
	return strings.Join(in, "\n")
}
