package export

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"clean": human.Line, "duration": human.Duration,
}).Parse(pageText))

// page is what the template shows.
type page struct {
	Policy        template.HTMLAttr // what the browser may load and run
	Title, Source string
	Origin        string
	Phase         string
	Figures       []figure
	Why           string
	Picture       template.HTML
	Rules         template.CSS
	Script        template.JS
	Path, Tail    []part
	Waits         []part
	Findings      []cause.Finding
	Incomplete    bool
}

// HTML writes the waterfall as one self-contained page: the picture with details of the selected row, the phases, the waits, and
// the given findings.
func HTML(w io.Writer, f *waterfall.Waterfall, found []cause.Finding) error {
	var b strings.Builder
	p := newPicture(f)
	p.inline(&b)
	style := "\n" + pictureStyle() + pageStyle
	//nolint:gosec // what is not ours in it is escaped, and the policy is of hashes
	data := page{
		Policy: template.HTMLAttr(fmt.Sprintf("content=\"default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; form-action 'none'\"",
			hashOf(style), hashOf(pageScript))),
		Title: human.Line(f.Pod.String()), Source: human.Line(string(f.Source)), Origin: f.Origin.UTC().Format("2006-01-02 15:04:05.000 UTC"), Phase: human.Line(f.Phase),
		Figures: figures(f), Why: sentence(human.Line(f.Why())),
		Picture: template.HTML(b.String()), Rules: template.CSS(style), Script: template.JS(pageScript),
		Path: longestFirst(parts(f.Path, f.Length())), Findings: found, Incomplete: f.Incomplete,
	}
	if hasTail(f) {
		data.Tail = longestFirst(parts(f.Tail, f.Ready-f.Started))
	}
	for _, x := range f.Waits {
		data.Waits = append(data.Waits, part{Part: waterfall.Part{Kind: waterfall.SegmentWait, Wait: x.For}, Dur: x.Dur, Share: waterfall.Percent(x.Dur, f.Length())})
	}
	if err := pageTemplate.Execute(w, data); err != nil {
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
		slices.SortStableFunc(in[:n], func(a, b part) int { return int(b.Dur - a.Dur) })
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
