package export

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// The measures of a picture, in pixels.
const (
	pictureWidth = 1040
	margin       = 20
	headHeight   = 86
	axisHeight   = 30
	rowHeight    = 22
	railWidth    = 3
	lineHeight   = 18
	// advance is the width of a character of the rows: monospaced, 12 px.
	advance = 7.25
)

// picture places a waterfall's rows. Its origin is the top left corner.
type picture struct {
	f     *waterfall.Waterfall
	rows  []waterfall.Row
	slow  int // the row that set the pace, or -1
	share int // of the start, in percent
	left  float64
	scale float64 // pixels in a nanosecond
	top   int     // of the axis
	foot  []string
	sum   []string
}

func newPicture(f *waterfall.Waterfall) *picture {
	p := &picture{f: f, rows: f.Rows(), top: headHeight}
	p.slow, p.share = slowRow(f, p.rows)
	label := 18
	for _, r := range p.rows {
		label = max(label, fit.Width(human.Line(r.Text()))+2*r.Depth)
	}
	p.left = margin + advance*float64(min(label, 44)+2)
	p.fit()
	chars := columns(pictureWidth - 2*margin)
	p.foot = fit.Wrap("why: "+human.Line(f.Why()), chars)
	if s := f.Sum(); s != "" {
		p.sum = fit.Wrap("sum: "+human.Line(s), chars)
	}
	return p
}

// fit makes the time line as long as what is said behind the bars allows, but at least half of its room.
func (p *picture) fit() {
	room := pictureWidth - margin - p.left
	span := float64(max(p.f.End, time.Microsecond))
	p.scale = room / span
	for i, r := range p.rows {
		text := float64(fit.Width(p.after(i))+1) * advance
		if r.Err == "" && r.End > 0 && float64(r.End)*p.scale+text > room {
			p.scale = max((room-text)/float64(r.End), room/2/span)
		}
	}
}

func (p *picture) height() int {
	return p.bottom() + lineHeight*(len(p.foot)+len(p.sum)) + 2*margin + 4
}

// bottom is where the rows end.
func (p *picture) bottom() int { return p.top + axisHeight + rowHeight*len(p.rows) }

func (p *picture) x(at time.Duration) float64 { return p.left + float64(at)*p.scale }

// heading writes pod, figures and the key to the colors.
func (p *picture) heading(b *strings.Builder) {
	words := lines(figures(p.f))
	if p.f.Phase != "" {
		words = append([]string{human.Line(p.f.Phase)}, words...)
	}
	text(b, margin, 32, "kl-head", fit.Cut(human.Line(p.f.Pod.String()), 60, fit.Ellipsis))
	text(b, margin, 53, "kl-dim", strings.Join(words, "  ·  "))
	p.legend(b, 76)
}

// legend explains the looks of the bars, from the left.
func (p *picture) legend(b *strings.Builder, y float64) {
	x := float64(margin)
	for _, k := range p.keys() {
		width := 14
		if k.class == railClass {
			width = railWidth
		}
		fmt.Fprintf(b, "<g class=\"kl-critical %s\"><rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%d\" height=\"10\" rx=\"2\"/></g>\n", k.class, k.shape(), px(x), px(y-9), width)
		x += float64(width + 6)
		text(b, x, y, "kl-dim", k.text)
		x += advance*float64(fit.Width(k.text)) + 18
	}
}

// key is an entry of the legend.
type key struct{ class, text string }

// railClass is the class of rows on the critical path, which have a rail at the left.
const railClass = "kl-critical"

// shape is the class of what the legend draws.
func (k key) shape() string {
	if k.class == railClass {
		return "kl-rail"
	}
	return "kl-bar"
}

// keys are those that the picture needs.
func (p *picture) keys() []key {
	has := map[string]bool{}
	for i := range p.rows {
		for c := range strings.FieldsSeq(p.class(i)) {
			has[c] = true
		}
	}
	var out []key
	all := []key{{railClass, "critical path"}}
	for _, s := range waterfall.Stages() {
		all = append(all, key{"kl-" + string(s), s.Name()})
	}
	for _, k := range append(all, key{"kl-failed", "failed"}) {
		if has[k.class] {
			out = append(out, k)
		}
	}
	return out
}

// class says how a row looks.
func (p *picture) class(i int) string {
	r := p.rows[i]
	class := "kl-side"
	if r.Critical {
		class = railClass
	}
	if r.Stage != waterfall.StageNone {
		class += " kl-" + string(r.Stage)
	}
	if r.Depth > 0 {
		class += " kl-nested"
	}
	if i == p.slow {
		class += " kl-slow"
	}
	if r.Err != "" {
		class += " kl-failed"
	}
	return class
}

// footing writes why, and the sum.
func (p *picture) footing(b *strings.Builder) {
	y := p.bottom() + margin + 16
	for _, s := range p.foot {
		text(b, margin, float64(y), "kl-text", s)
		y += lineHeight
	}
	for _, s := range p.sum {
		text(b, margin, float64(y), "kl-dim", s)
		y += lineHeight
	}
}

func text(b *strings.Builder, x, y float64, class, s string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class, px(x), px(y), escape(s))
}

// px writes a length with a tenth of a pixel.
func px(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// columns is how many characters of the rows go into a width.
func columns(width float64) int { return int(width / advance) }
