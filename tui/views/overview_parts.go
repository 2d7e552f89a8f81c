package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// span is a piece of a row with its tone.
type span struct {
	text string
	tone style.Tone
}

// paintRow writes a row of w columns; under the cursor on its own ground, and marked.
func paintRow(th *style.Theme, cells []span, w int, selected bool) string {
	left, lead, flag := w-1, " ", style.Plain
	if selected {
		lead, flag = th.Paint(style.Selected, th.Glyphs.Mark), style.Selected
	}
	var b strings.Builder
	b.WriteString(lead)
	for _, c := range cells {
		text := th.Cut(c.text, left)
		left -= fit.Width(text)
		b.WriteString(th.Paint(c.tone|flag, text))
	}
	if selected {
		b.WriteString(th.Paint(flag, fit.Spaces(left)))
	}
	return b.String()
}

// podWidth is how wide a pod's name is drawn.
func (d *overviewDraw) podWidth() int { return min(max(d.w*28/100, 18), 44) }

func (d *overviewDraw) name(s string) string {
	w := d.podWidth()
	return d.Theme.Left(d.Theme.CutMid(d.Theme.Clean(s), w), w)
}

func (d *overviewDraw) startingPart() {
	all := d.starting
	n := min(d.r.starting, len(all))
	d.begin("starting now", d.more(n, len(all)))
	defer d.end()
	switch {
	case len(all) > 0:
	case anyStarting(d.trouble):
		d.none("only pods that are in trouble")
	default:
		d.none("no pod is starting")
	}
	for i := range all[:n] {
		d.startingRow(&all[i])
	}
}

func anyStarting(pods []model.Pod) bool {
	for i := range pods {
		if pods[i].State() == model.StateStarting {
			return true
		}
	}
	return false
}

func (d *overviewDraw) startingRow(pod *model.Pod) {
	th := d.Theme
	doing, since, tone := now(th, pod)
	did, wide := d.w-d.podWidth()-32, d.w >= 90
	if wide {
		did -= 14
	}
	age := style.Unknown
	if !since.IsZero() {
		age = style.Age(max(d.now.Sub(since), 0))
	}
	cells := []span{
		{text: d.name(pod.Key.String())},
		{text: " " + d.moves(pod) + " " + th.Left(doing, did-2), tone: tone},
		{text: " " + th.Right(age, style.DurWidth)},
	}
	cells = append(cells, span{text: "  " + th.Left(progress(th, pod), 21), tone: style.Image})
	if wide && !pod.Start.Seen.IsZero() {
		total := style.Age(max(d.now.Sub(pod.Start.Seen), 0))
		cells = append(cells, span{text: th.Right(total+" in all", 14), tone: style.Dim})
	}
	d.row(cells...)
}

// moves is a spinner beside a pod for which something works, and the glyph of waits beside one that only waits.
func (d *overviewDraw) moves(pod *model.Pod) string {
	if len(pod.Waits) > 0 && len(pod.Pulls) == 0 {
		return d.Theme.Glyphs.Wait
	}
	return d.Theme.Glyphs.Spinner(d.now)
}

// progress draws how far a pod's pull has come.
func progress(th *style.Theme, pod *model.Pod) string {
	for _, p := range pod.Pulls {
		switch {
		case p.At.IsZero():
			continue
		case p.Total <= 0:
			return style.Bytes(p.Done)
		}
		return th.Bar(float64(p.Done), float64(p.Total), 8) + " " + ofBytes(p.Done, p.Total)
	}
	return ""
}

// ofBytes writes 41/68 MiB.
func ofBytes(done, total int64) string {
	whole := style.Bytes(total)
	part := style.Bytes(done)
	if number, unit, ok := strings.Cut(part, " "); ok && strings.HasSuffix(whole, " "+unit) {
		part = number
	}
	return part + "/" + whole
}

// now says what a pod is doing or waiting for, since when, and the tone of its phase.
func now(th *style.Theme, pod *model.Pod) (text string, since time.Time, tone style.Tone) {
	switch {
	case len(pod.Pulls) > 0:
		text, since, tone = "pull "+human.Image(pod.Pulls[0].Image), pod.Pulls[0].Since, style.Image
	case len(pod.Waits) > 0 && len(pod.Actions) == 0:
		w := pod.Waits[len(pod.Waits)-1]
		text, since, tone = "wait "+say.Waiting(&w.Wait), w.Since, style.Wait
	case len(pod.Actions) > 0:
		a := pod.Actions[len(pod.Actions)-1]
		text, since, tone = actionName(th, a.ID), a.Since, phase(waterfall.VerbStage(trace.Verb(a.Verb)))
		if n := len(pod.Actions); n > 1 {
			text += fmt.Sprintf(" +%d", n-1)
		}
	case pod.Worker.Current.Running:
		text, since = "sync "+string(pod.Worker.Current.Why), pod.Worker.Current.Begin
	default:
		return style.Unknown, time.Time{}, style.Dim
	}
	return th.Clean(text), since, tone
}

func (d *overviewDraw) troublePart() {
	all := d.trouble
	if len(all) == 0 {
		return
	}
	n := min(d.r.trouble, len(all))
	d.begin("in trouble", d.more(n, len(all)))
	defer d.end()
	for i := range all[:n] {
		pod := &all[i]
		times := ""
		if pod.Restarts > 0 {
			times = fmt.Sprintf("%d×", pod.Restarts)
		}
		d.row(span{text: d.name(pod.Key.String())}, span{text: " " + d.Theme.Right(times, 4)},
			span{text: " " + d.retry(pod)},
			span{text: "  " + d.Theme.Clean(trouble(pod, d.now)), tone: style.Fail})
	}
}

// retry says when a pod that backs off is tried again.
func (d *overviewDraw) retry(pod *model.Pod) string {
	if !pod.Backoff.Active() || pod.Backoff.Until.IsZero() {
		return d.Theme.Right("", 9)
	}
	return d.Theme.Right("in "+style.Age(max(pod.Backoff.Until.Sub(d.now), 0)), 9)
}

func (d *overviewDraw) slowestPart() {
	th, all := d.Theme, d.slowest
	n := min(d.r.slowest, len(all))
	if d.Scene.Panels {
		d.begin(d.order.title(), d.more(n, len(all)))
		defer d.end()
	} else {
		at := d.podWidth() + 28 + d.bar()
		d.line(th.Rule(d.order.title(), at) + th.Rule("why", d.w-at))
	}
	if len(all) == 0 {
		d.none("no pod has started since the first event")
	}
	longest := time.Duration(0)
	for _, s := range all[:n] {
		longest = max(longest, s.ToStarted)
	}
	for i, s := range all[:n] {
		top := ""
		if i < len(d.tops) {
			top = d.tops[i]
		}
		d.startRow(s, top, longest)
	}
}

// bar is how wide the bar of the longest start is.
func (d *overviewDraw) bar() int {
	if d.w < 100 {
		return startBar - 4
	}
	return startBar
}

func (d *overviewDraw) startRow(s model.Start, top string, longest time.Duration) {
	th := d.Theme
	var most model.Segment
	for _, seg := range s.Segments {
		if seg.Dur > most.Dur {
			most = seg
		}
	}
	main, cause := "", s.Reason // what it is about is in the columns before it
	if most.Dur > 0 {
		main = th.Left(th.Clean(cmp.Or(string(most.Wait), most.Label())), 10) + " " + th.Right(style.Dur(most.Dur), style.DurWidth)
	}
	if top != "" {
		cause = top
	}
	tone := style.Plain
	if d.stats.P50 > 0 && s.ToStarted > 2*d.stats.P50 {
		tone = style.Slow
	}
	row := []span{
		{text: d.name(s.Pod.String())},
		{text: " " + th.Right(style.Dur(s.ToStarted), style.DurWidth), tone: tone},
		{text: "  " + th.Left(main, 17) + " ", tone: phase(most.Stage())},
	}
	bar := segments(th, &s, longest, d.bar())
	n := 0
	for _, part := range bar.Parts {
		row = append(row, span{text: part.Text, tone: part.Tone})
		n += fit.Width(part.Text)
	}
	d.row(append(row, span{text: fit.Spaces(d.bar()-n) + " " + th.Clean(cause)})...)
}

// adoptedPart draws the pods that are up and of which this agent has not seen the start.
func (d *overviewDraw) adoptedPart() {
	n := d.r.adopted
	if n == 0 {
		return
	}
	all := d.adopted
	ran := "they ran before this agent"
	if len(all) == 1 {
		ran = "it ran before this agent"
	}
	d.begin(fmt.Sprintf("%d adopted: %s", len(all), ran), d.more(n, len(all)))
	defer d.end()
	for i := range all[:n] {
		pod := &all[i]
		state, tone := "", style.Plain
		switch pod.State() { //nolint:exhaustive // the others are trouble
		case model.StateReady:
		case model.StateStarted:
			state = string(pod.State())
		default:
			state, tone = string(pod.State()), style.Slow
		}
		since := pod.Start.Seen
		if since.IsZero() {
			since = pod.Start.Started
		}
		ago := ""
		if !since.IsZero() {
			ago = " " + style.Age(max(d.now.Sub(since), 0)) + " ago"
		}
		d.row(span{text: d.name(pod.Key.String())}, span{text: fmt.Sprintf(" %d/%d ready", pod.Ready, pod.Total)},
			span{text: "  adopted" + ago}, span{text: "  " + state, tone: tone})
	}
}

// bottomPart draws CRI calls and pressure side by side.
func (d *overviewDraw) bottomPart() {
	th, whole := d.Theme, d.Overview.w
	left := min(max(whole*52/100, 41), 62)
	right := whole - left
	n, around := min(d.r.bottom, len(d.methods)), 0
	if d.Scene.Panels {
		around = style.PanelSides
	}
	var calls, pressure []string
	first, under := len(d.out)+1, d.next
	for i := range d.methods[:n] {
		d.hits[first+i] = d.next
		calls = append(calls, paintRow(th, methodRow(th, d.methods[i], left-around), left-around, d.next == d.cur))
		d.next++
	}
	if n == 0 {
		calls = []string{th.Paint(style.Dim, th.Cut(" no CRI call in the last minute", left-around))}
	}
	for i := range min(d.r.bottom, len(d.pressure)) {
		pressure = append(pressure, " "+pressureRow(th, d.pressure[i], right-1-around))
	}
	if len(d.pressure) == 0 {
		pressure = []string{th.Paint(style.Dim, th.Cut(" not measured yet", right-around))}
	}
	title, count := "CRI, last minute", d.more(n, len(d.methods))
	if d.Scene.Panels {
		focus := n > 0 && d.cur >= under && d.cur < under+n
		h := d.r.bottom + around
		d.out = append(d.out, style.Beside(
			th.Panel(style.Panel{Title: title, Count: count, Focus: focus}, calls, left, h),
			th.Panel(style.Panel{Title: "pressure"}, pressure, right, h))...)
		return
	}
	if count != "" {
		title += ", " + count
	}
	d.line(th.Rule(title, left) + " " + th.Rule("pressure", right-1))
	for i := range d.r.bottom {
		line := fit.Spaces(left)
		if i < len(calls) {
			line = fit.Left(calls[i], left)
		}
		if i < len(pressure) {
			line += pressure[i]
		}
		d.line(line)
	}
}

func methodRow(th *style.Theme, m model.Method, w int) []span {
	extra, tone := "", style.Plain
	if m.Errors > 0 {
		extra, tone = fmt.Sprintf(" %d failed", m.Errors), style.Fail
	} else if m.InFlight > 0 {
		extra = fmt.Sprintf(" %d open", m.InFlight)
	}
	p50, p99 := " p50"+th.Right(style.Known(m.P50), 6), " p99"+th.Right(style.Known(m.P99), 6)
	if m.Count == 0 && m.InFlight > 0 {
		p50 = th.Right(fmt.Sprintf("%d open", m.InFlight), 10)
	}
	name := w - 1 - 5 - 20
	if name >= 15+10 {
		name -= 10
		extra = th.Left(" "+extra, 10)
		return []span{
			{text: th.Left(th.Clean(m.Name), name), tone: phase(waterfall.CallStage(m.Name))},
			{text: th.Right(style.Count(m.Count), 5) + p50 + p99},
			{text: extra, tone: tone},
		}
	}
	if m.Errors > 0 {
		p50, extra = "", th.Right(extra, 10) // no room for both
	} else {
		extra = ""
	}
	return []span{
		{text: th.Left(th.Clean(m.Name), name), tone: phase(waterfall.CallStage(m.Name))},
		{text: th.Right(style.Count(m.Count), 5) + p50},
		{text: extra, tone: tone},
		{text: p99},
	}
}

// worthShowing returns memory and disks, and of the other signals those of which little is left.
func worthShowing(all []model.Pressure) []model.Pressure {
	return slices.DeleteFunc(all, func(p model.Pressure) bool {
		basic := p.Signal == trace.SignalMemory || p.Signal == trace.SignalNodeFS || p.Signal == trace.SignalImageFS
		return !basic && p.Percent() < 80
	})
}

// rule is what happens at which threshold or, where not even the first one fits, where pressure begins.
func rule(p *model.Pressure, room int) string {
	if len(p.Thresholds) == 0 || fit.Width(say.Thresholds(p.Signal, p.Thresholds[:1])) <= room {
		return say.Thresholds(p.Signal, p.Thresholds)
	}
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; t.Kind == trace.ThresholdPressure {
			_, at := say.Threshold(p.Signal, t)
			return "at " + at
		}
	}
	return say.Thresholds(p.Signal, p.Thresholds)
}

func pressureRow(th *style.Theme, p model.Pressure, w int) string {
	percent := p.Percent()
	figure, bar := style.Unknown, th.Left("", 8)
	if percent >= 0 {
		figure, bar = fmt.Sprintf("%d%%", percent), th.Gauge(float64(p.Used), float64(p.Capacity), 8, limits(&p)...)
	}
	text := th.Left(th.Clean(string(p.Signal)), 7) + " " + bar + " " + th.Right(figure, 4)
	tone := style.Plain
	if percent >= 90 {
		tone = style.Slow
	}
	rest := th.Cut("  "+th.Clean(rule(&p, w-fit.Width(text)-2)), w-fit.Width(text))
	return th.Paint(tone, th.Cut(text, w)) + th.Paint(style.Dim, rest)
}
