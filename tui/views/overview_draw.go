package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// room is how many rows each section of the overview gets.
type room struct{ broken, starting, trouble, slowest, adopted, bottom int }

// share splits the height between the sections; what is in trouble comes first.
func (p *Overview) share() room {
	var r room
	r.bottom = min(max(len(p.methods), len(p.pressure), 1), max(3, p.h/4))
	around := 1 // a rule, or two borders
	if p.Scene.Panels {
		around = style.PanelSides
	}
	left := p.h - 5*around - r.bottom // starting, slowest, CRI, and the counts with a line of their own, two in panels
	take := func(n, most int) int {
		n = max(min(n, most, left), 0)
		left -= n
		return n
	}
	if len(p.broken) > 0 {
		left -= around
		r.broken = take(len(p.broken), 2)
	}
	if len(p.trouble) > 0 {
		left -= around
		r.trouble = take(len(p.trouble), max(left/3, 1))
	}
	r.starting = take(max(len(p.starting), 1), max(left/2, 1))
	if len(p.adopted) > 0 && left > around+1 { // what is around it, a row of it, a row of a start
		left -= around
		r.adopted = take(len(p.adopted), max(left/3, 1))
	}
	r.slowest = take(max(len(p.slowest), 1), left)
	r.starting += take(len(p.starting)-r.starting, left)
	r.adopted += take(min(r.adopted, 1)*(len(p.adopted)-r.adopted), left)
	r.bottom += take(len(p.methods)-r.bottom, left)
	return r
}

// layout works out what the cursor can be on and finds its item again.
func (p *Overview) layout() {
	r := p.share()
	p.items = p.items[:0]
	add := func(id string, open tea.Cmd) { p.items = append(p.items, item{id: id, open: open}) }
	about := func(id string, pod trace.Pod) {
		p.items = append(p.items, item{id + " " + pod.String() + pod.UID, pod, send(OpenPod{pod})})
	}
	for _, e := range p.broken[:min(r.broken, len(p.broken))] {
		add("broken "+string(e.Source)+e.Path, func() tea.Msg { return Open{p.manifest(e)} })
	}
	for _, pod := range p.starting[:min(r.starting, len(p.starting))] {
		about("starting", pod.Key)
	}
	for _, pod := range p.trouble[:min(r.trouble, len(p.trouble))] {
		about("trouble", pod.Key)
	}
	for _, s := range p.slowest[:min(r.slowest, len(p.slowest))] {
		about("start", s.Pod)
	}
	for _, pod := range p.adopted[:r.adopted] {
		about("adopted", pod.Key)
	}
	for _, m := range p.methods[:min(r.bottom, len(p.methods))] {
		add("method "+m.Name, send(OpenCalls{m.Name}))
	}
	i := slices.IndexFunc(p.items, func(it item) bool { return it.id == p.sel })
	if i < 0 {
		i = max(min(p.cur, len(p.items)-1), 0)
	}
	p.cur = i
}

// Panels implements Paneled: each section has one.
func (p *Overview) Panels() {}

// View implements Page.
func (p *Overview) View() string {
	if p.w <= 0 || p.h <= 0 {
		return ""
	}
	d := &overviewDraw{Overview: p, r: p.share(), w: p.w}
	if p.Scene.Panels {
		d.w -= style.PanelSides
	}
	p.hits = map[int]int{}
	d.head()
	d.brokenPart()
	d.startingPart()
	d.troublePart()
	d.slowestPart()
	d.adoptedPart()
	d.bottomPart()
	return strings.Join(d.out[:min(len(d.out), p.h)], "\n")
}

// overviewDraw draws an overview once.
type overviewDraw struct {
	*Overview
	r    room
	w    int // of the lines of a section
	out  []string
	next int // item

	title, count string // of the section that is being drawn
	from         int    // its first line
}

// begin begins a section: with a rule, or a panel that end closes.
func (d *overviewDraw) begin(title, count string) {
	if d.Scene.Panels {
		d.title, d.count, d.from = title, count, len(d.out)
		d.line("")
		return
	}
	if count != "" {
		title += ", " + count
	}
	d.line(d.Theme.Rule(title, d.w))
}

// end ends a section.
func (d *overviewDraw) end() {
	if d.Scene.Panels {
		panel := style.Panel{Title: d.title, Count: d.count, Focus: d.focus()}
		d.out = append(d.out[:d.from], d.Theme.Panel(panel, d.out[d.from+1:], d.Overview.w, 0)...)
	}
}

// focus reports whether the cursor is in the section that is being drawn.
func (d *overviewDraw) focus() bool {
	for y := d.from; y < len(d.out); y++ {
		if i, ok := d.hits[y]; ok && i == d.cur {
			return true
		}
	}
	return false
}

func (d *overviewDraw) line(s string) { d.out = append(d.out, s) }

// row adds the line of the next item: drawn holds it as cells, each with its tone.
func (d *overviewDraw) row(cells ...span) {
	d.hits[len(d.out)] = d.next
	d.line(paintRow(d.Theme, cells, d.w, d.next == d.cur))
	d.next++
}

func (d *overviewDraw) none(s string) {
	d.line(d.Theme.Paint(style.Dim, d.Theme.Cut(" "+s, d.w)))
}

func (d *overviewDraw) head() {
	th, c := d.Theme, d.counts
	d.begin("pods", "")
	defer d.end()
	if !d.known {
		d.none(cmp.Or(d.Scene.Note, "waiting for the first event"))
		return
	}
	parts := []span{{text: fmt.Sprintf(" %d total", c.Total), tone: style.Strong}, {text: fmt.Sprintf("%d ready", c.Ready)}}
	add := func(n int, what string, tone style.Tone, always bool) {
		if n == 0 {
			tone = style.Dim
		}
		if n > 0 || always {
			parts = append(parts, span{text: fmt.Sprintf("%d %s", n, what), tone: tone})
		}
	}
	wide := d.w >= 100
	add(c.Starting, "starting", style.Plain, true)
	add(c.NotReady, "not ready", style.Slow, false)
	add(c.BackingOff, "backing off", style.Fail, wide)
	add(c.Terminating, "terminating", style.Plain, wide)
	add(c.Completed, "completed", style.Plain, false)
	add(c.Failed, "failed", style.Fail, false)
	add(c.Unknown, "unknown", style.Dim, false)
	right := "start p50 " + style.Known(d.stats.P50) + "  p99 " + style.Known(d.stats.P99)
	d.line(ends(th, parts, right, d.w))
	if d.Scene.Panels {
		d.line(paintRow(th, d.activity.spans(th, d.w-1), d.w, false))
	}
}

// ends writes spans at the left with gaps that shrink, and a text at the right
// where there is room for it.
func ends(th *style.Theme, parts []span, right string, w int) string {
	for _, gap := range []string{"   ", "  ", " "} {
		var plain, painted []string
		for _, s := range parts {
			plain = append(plain, s.text)
			painted = append(painted, th.Paint(s.tone, s.text))
		}
		n := fit.Width(strings.Join(plain, gap))
		if n+2+fit.Width(right) <= w {
			return strings.Join(painted, gap) + fit.Spaces(w-n-fit.Width(right)) + right
		}
		if gap == " " && n <= w {
			return strings.Join(painted, gap)
		}
		if gap == " " {
			return th.Cut(strings.Join(plain, gap), w)
		}
	}
	return ""
}

func (d *overviewDraw) more(shown, all int) string {
	if all > shown {
		return fmt.Sprintf("%d of %d shown", shown, all)
	}
	return ""
}

func (d *overviewDraw) brokenPart() {
	if d.r.broken == 0 || len(d.broken) == 0 {
		return
	}
	d.begin(brokenTitle(d.broken), d.more(d.r.broken, len(d.broken)))
	defer d.end()
	for _, e := range d.broken[:min(d.r.broken, len(d.broken))] {
		d.row(span{text: d.Theme.Clean(sourceErrorLine(&e)), tone: style.Fail})
	}
}

// brokenTitle tells sources that do not deliver from manifests that are wrong.
func brokenTitle(errs []model.SourceError) string {
	whole := 0
	for i := range errs {
		if errs[i].WholeSource() {
			whole++
		}
	}
	switch whole {
	case 0:
		return "manifests that cannot be used"
	case len(errs):
		return "sources of pods that fail"
	}
	return "sources that fail, and manifests that cannot be used"
}

// manifest is a page on what is wrong with a manifest, or with a whole source.
func (p *Overview) manifest(e model.SourceError) Page {
	title := "a manifest that cannot be used"
	if e.WholeSource() {
		title = "a source of pods that fails"
	}
	return NewPager(p.Look, "manifest", title, sourceErrorText(p.Theme, &e, p.w))
}
