package views

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// View implements Page.
func (p *Step) View() string {
	if p.w <= 0 || p.h <= 0 {
		return ""
	}
	switch {
	case p.stepper == nil:
		return p.words(
			"There is no step session.",
			"",
			"kubeloupe step FILE runs the pod of that manifest and stops before each action of its plan. This view "+
				"then shows the exact next request and what changed since the last stop. The rest of the node continues.",
			"",
			"kubeloupe step --pod NS/NAME does the same for a pod of a running agent, and for a pod of another kubelet behind kubeloupe proxy.")
	case !p.have && p.over:
		return p.words("Stepping ended before the first stop.")
	case !p.have:
		return p.words("Waiting for the first stop.")
	}
	out := []string{p.heading()}
	changed := p.changed()
	body := max(p.h-1-len(changed), 1)
	left := p.plan(body)
	lw := min(max(p.w*34/100, 26), 44)
	right := p.request(p.w-lw-1, body)
	th := p.Theme
	for i := range body {
		l, r := fit.Spaces(lw), ""
		if i < len(left) {
			l = th.Paint(left[i].Tone, th.Left(left[i].Line, lw))
		}
		if i < len(right) {
			r = th.Paint(right[i].Tone, right[i].Line)
		}
		out = append(out, l+" "+r)
	}
	out = append(out, changed...)
	return strings.Join(out[:min(len(out), p.h)], "\n")
}

func (p *Step) words(lines ...string) string {
	var out []string
	for _, l := range lines {
		for _, w := range fit.Wrap(l, p.w-2) {
			out = append(out, " "+w)
		}
	}
	return strings.Join(out[:min(len(out), p.h)], "\n")
}

func (p *Step) heading() string {
	th := p.Theme
	where := fmt.Sprintf("paused %s      %d of %d", p.stop.Place(), p.stop.Index, p.stop.Total)
	switch {
	case p.leaving && p.stop.Attached:
		where = "leaving"
	case p.leaving:
		where = "deleting the pod and cleaning up"
	case p.over:
		where = "over"
	case p.busy:
		where = p.running
		if p.ahead.Waits() {
			where += "; then " + p.Theme.Clean(p.ahead.String())
		}
	case !p.stop.Waits() && p.stop.Attached:
		where = p.stop.Awaits()
	case !p.stop.Waits():
		where = "nothing is left to do"
	}
	if left := p.stop.Left(p.now); left > 0 && !p.busy && !p.leaving {
		where += "      continues in " + human.Duration(left.Truncate(time.Second))
	}
	where = th.Cut(th.Clean(where), max(p.w/2+10, p.w-30))
	name := th.CutMid("step "+th.Clean(p.stop.Pod.String()), max(p.w-fit.Width(where)-4, 10))
	gap := max(p.w-fit.Width(where)-fit.Width(name)-2, 1)
	return " " + th.Paint(style.Strong, name) + fit.Spaces(gap) + where
}

// plan draws the actions; the one that comes next is always in sight.
func (p *Step) plan(rows int) []Text {
	th := p.Theme
	next := 0
	var lines []Text
	for i, a := range p.stop.Actions {
		mark, tone, took := th.Glyphs.Dot, style.Dim, ""
		switch a.State {
		case step.Done:
			mark, tone, took = th.Glyphs.Done, style.Plain, style.Dur(a.Dur)
		case step.Failed:
			mark, tone, took = th.Glyphs.Failed, style.Fail, style.Dur(a.Dur)
		case step.Next:
			mark, tone, next = th.Glyphs.Mark, style.Strong, i
		case step.Todo:
		}
		lines = append(lines, Text{Line: " " + mark + " " + th.Left(actionName(th, a.ID), 15) + " " + th.Right(took, style.DurWidth), Tone: tone})
	}
	top := max(min(next-rows/2, len(lines)-rows), 0)
	return lines[top:min(top+rows, len(lines))]
}

// actionName is an action's id with a short image name.
func actionName(th *style.Theme, id string) string {
	if image, ok := strings.CutPrefix(id, "image "); ok {
		id = "image " + human.Image(image)
	}
	return th.Clean(id)
}

// ending says what a person can do who has stepped through the whole plan.
func (p *Step) ending(w int) []Text {
	lines := []Text{{Line: p.Theme.Cut("All containers run; no action waits.", w), Tone: style.Strong}, {}}
	what := []string{
		"q deletes the pod, waits until nothing of it is left, and quits.",
		"^C quits; the pod continues.",
		"6 shows the waterfall of its start.",
	}
	if p.stop.Attached {
		next := "The next action of the agent for this pod, such as its deletion, is paused here again."
		switch p.stop.Only {
		case step.Creation:
			next = "The next action that creates something of this pod, such as the restart of a container, is paused here again. Its deletion is not paused."
		case step.Deletion:
			next = "The pod's deletion is paused here."
		}
		what = []string{next, "q quits; the pod continues.", what[2]}
	}
	for _, s := range what {
		for _, l := range fit.Wrap(s, w) {
			lines = append(lines, Text{Line: l})
		}
	}
	return lines
}

// result draws how the action went after which the pod waits.
func (p *Step) result(w int) []Text {
	th, tone := p.Theme, style.Strong
	title := "done in " + human.Duration(p.stop.Took)
	words := []string{"n continues to the next action, c to the next breakpoint or to the end."}
	if p.stop.Err != "" {
		title, tone = "failed after "+human.Duration(p.stop.Took), style.Fail
		words = append([]string{th.Clean(p.stop.Err), ""}, "r retries it. n continues with actions that do not depend on it.")
	}
	if p.stop.Hit != "" {
		words = append([]string{"breakpoint: " + th.Clean(p.stop.Hit), ""}, words...)
	}
	lines := []Text{{Line: th.Cut(title, w), Tone: tone}}
	for _, s := range words {
		for _, l := range fit.Wrap(s, w-2) {
			lines = append(lines, Text{Line: "  " + l})
		}
	}
	return lines
}

// request draws the request that comes next.
func (p *Step) request(w, rows int) []Text {
	th := p.Theme
	if p.done {
		return p.ending(w)
	}
	if p.stop.When == gate.After && !p.busy {
		return p.result(w)
	}
	title := Text{Line: th.Cut(th.Clean(p.stop.RequestTitle), w), Tone: style.Strong}
	if p.stop.Request == "" {
		text := "this action makes no CRI request"
		if !p.stop.Waits() && p.stop.Attached {
			text = "what the agent does next to this pod stops here"
			if p.stop.Only != "" {
				text = "the pod's next " + string(p.stop.Only) + " stops here"
			}
		} else if !p.stop.Waits() {
			text = "no action is left"
		}
		return []Text{title, {Line: th.Cut(text, w), Tone: style.Dim}}
	}
	var lines []Text
	for _, l := range th.CleanLines(p.stop.Request) {
		if p.filter == nil || p.filter.MatchString(l) {
			lines = append(lines, Text{Line: th.Cut("  "+l, w)})
		}
	}
	room := max(rows-1, 1)
	p.scroll = max(min(p.scroll, len(lines)-room), 0)
	out := append([]Text{title}, lines[p.scroll:min(p.scroll+room, len(lines))]...)
	if rest := len(lines) - p.scroll - room; rest > 0 && len(out) > 1 {
		out[len(out)-1] = Text{Line: th.Cut(fmt.Sprintf("  %s %d more lines; p prints them all", th.Glyphs.Ellipsis, rest+1), w), Tone: style.Dim}
	}
	return out
}

// maxChanged is how many lines of changes are shown.
const maxChanged = 4

func (p *Step) changed() []string {
	th := p.Theme
	var out []string
	for _, a := range p.stop.Actions {
		if a.State == step.Failed {
			out = append(out, th.Paint(style.Fail, th.Cut(" "+th.Clean(a.ID+" failed: "+a.Err), p.w)))
		}
	}
	if p.done || !p.stop.Waits() {
		return out // what had changed is of the last stop
	}
	if len(p.stop.Changed) == 0 {
		return append(out, th.Paint(style.Dim, th.Cut(" nothing changed since the last stop", p.w)))
	}
	lead := " changed: "
	for i, c := range p.stop.Changed {
		if i == maxChanged-1 && len(p.stop.Changed) > maxChanged {
			out = append(out, th.Paint(style.Dim, fmt.Sprintf("%sand %d more", lead, len(p.stop.Changed)-i)))
			break
		}
		out = append(out, lead+th.CutMid(th.Clean(c), p.w-len(lead))) // paths differ at their ends
		lead = fit.Spaces(len(lead))
	}
	return out
}
