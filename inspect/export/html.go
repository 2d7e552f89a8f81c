package export

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// HTML writes the waterfall as one self-contained page: the picture with details of the selected row, the phases, the waits, and
// the given findings.
func HTML(w io.Writer, f *waterfall.Waterfall, found []cause.Finding) error {
	style := "\n" + pictureStyle() + pageStyle
	var p page
	p.head(f, style)
	p.header(f)
	p.WriteString("<main>\n<section class=\"fall\" aria-label=\"Waterfall\">\n")
	newPicture(f).inline(&p.Builder)
	p.WriteString("\n</section>\n")
	p.causes(found)
	p.tables(f)
	p.WriteString("</main>\n<div id=\"tip\" hidden></div>\n<script>" + pageScript + "</script>\n</body>\n</html>\n")
	if err := write(w, p.String()); err != nil {
		return fmt.Errorf("write HTML of %s: %w", f.Pod, err)
	}
	return nil
}

// inline draws the chart alone: the page has heading and footing of its own, and the style.
func (p *picture) inline(b *strings.Builder) {
	p.top = 34
	height := p.bottom() + 22
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %d %d\" role=\"group\" aria-label=\"Waterfall\">\n", pictureWidth, height)
	p.legend(b, 18)
	p.chart(b)
	b.WriteString("</svg>")
}

// hashOf is how a content security policy names a style or a script.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// longestFirst orders parts by time; what is unexplained stays last.
func longestFirst(in []part) []part {
	if n := len(in) - 1; n > 0 {
		sorting.Stable(in[:n], func(a, b *part) int { return int(b.Dur - a.Dur) })
	}
	return in
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
