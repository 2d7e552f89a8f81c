package views

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

const (
	// answerLabel is the room for the labels of the answer.
	answerLabel = 8
	// answerLines is how many lines a part of the answer takes at most.
	answerLines = 3
	// answerWaits is how many waits the answer has at most.
	answerWaits = 2
)

// answer is what the user came for. Of a pod that is well: how long its start took, and what took longest; of another one: the
// cause, what the pod waits for, and what happens next.
func (p *Pod) answer() {
	r, bad := p.report, trouble(&p.pod, p.now)
	switch {
	case r == nil:
		p.tell("state", bad, style.Fail, nil)
		p.tell("start", p.noFall, style.Dim, nil)
		p.actions()
	case bad == "" && (r.Stage == cause.Up || r.Stage == cause.Over || r.Stage == cause.Unknown):
		p.came(r)
	default:
		p.stuck(r, bad)
	}
}

// came says how long the start of a pod that is well took, and what took longest.
func (p *Pod) came(r *why.Report) {
	text, tone := r.State(), toneIf(p.usual.over(r.Start), style.Slow)
	if p.fall != nil {
		text += "; " + p.fall.Why()
	}
	p.tell("start", "it "+text, tone, nil)
	p.tell("", p.noFall, style.Dim, nil)
	p.tell("cause", leadText(r), style.Plain, r.Lead)
	if p.usual.over(r.Start) {
		p.tell("slow", p.usual.text(), style.Slow, nil)
	}
}

// stuck says why a pod is not well, or not yet: a start within the usual time is no trouble.
func (p *Pod) stuck(r *why.Report, bad string) {
	tone, slow := style.Plain, r.Stage == cause.Starting && p.usual.over(r.Length)
	switch {
	case bad != "" || r.Stage == cause.Down:
		tone = style.Fail
	case slow || r.Stage == cause.Ending:
		tone = style.Slow
	}
	p.tell("cause", leadText(r), tone, r.Lead)
	p.tell("state", bad, style.Fail, nil)
	if r.Lead == nil && bad == "" && len(r.Waiting) == 0 {
		p.tell("why", r.Cause, tone, nil)
	}
	p.waits(r)
	p.tell("", p.noFall, style.Dim, nil)
	if slow {
		p.tell("slow", p.usual.text(), style.Slow, nil)
	}
}

// leadText is the finding that explains most; "" where there is none.
func leadText(r *why.Report) string {
	f := r.Lead
	switch {
	case f == nil:
		return ""
	case f.Cost == 0:
		return f.ID + " " + f.Name + ": " + f.Sentence
	}
	return f.ID + " " + f.Name + " (" + style.Dur(f.Cost) + "): " + f.Sentence
}

// waits tells what the pod waits for, and the next try.
func (p *Pod) waits(r *why.Report) {
	for i, w := range r.Waiting {
		if i == answerWaits {
			p.tell("", fmt.Sprintf("and %d more", len(r.Waiting)-i), style.Dim, nil)
			break
		}
		p.tell("now", "it "+w.Text()+", "+style.Age(p.now.Sub(w.Since))+" so far", toneIf(p.usual.over(w.Dur), style.Slow), nil)
		p.tell("next", strings.TrimPrefix(w.NextText(p.now), "next: "), style.Strong, nil)
	}
	if len(r.Waiting) == 0 {
		p.actions()
	}
}

// actions tells what is being done for the pod.
func (p *Pod) actions() {
	for _, a := range p.pod.Actions {
		p.tell("now", strings.TrimSpace(fmt.Sprintf("%s for %s %s", a.ID, style.Age(p.now.Sub(a.Since)), a.Reason)), style.Plain, nil)
	}
}

// tell adds a part of the answer, if there is one. Enter opens the finding that it is about.
func (p *Pod) tell(label, text string, tone style.Tone, f *cause.Finding) {
	if text == "" {
		return
	}
	lines := fit.Paragraph(p.Theme.Left(label, answerLabel), p.Theme.Clean(text), p.w-2)
	if len(lines) > answerLines && p.filter == nil {
		lines = lines[:answerLines]
		lines[answerLines-1] = fit.Cut(lines[answerLines-1], p.w-4, "") + " " + p.Theme.Glyphs.Ellipsis
	}
	for _, line := range lines {
		if p.filter.MatchString(line) {
			p.lines = append(p.lines, podLine{Text: Text{Line: line, Tone: tone}, lead: answerLabel, finding: f})
		}
	}
}
