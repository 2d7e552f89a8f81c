package views

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// retold is a text about a pod, as a command prints it. It is written again once a second, so it shows how things are now.
type retold struct {
	*Pager
	pod  trace.Pod
	text func(f Frame, pod trace.Pod, w int) (string, error)
	at   time.Time
	wide int
}

func newRetold(look Look, name string, pod trace.Pod, text func(Frame, trace.Pod, int) (string, error)) *retold {
	title := strings.ToLower(name) + " " + look.Theme.Clean(pod.String())
	return &retold{Pager: NewPager(look, name, title, nil).Of(strings.ToLower(name)), pod: pod, text: text}
}

// Refresh implements Page.
func (p *retold) Refresh(f Frame) {
	if age := f.Now.Sub(p.at); p.wide == p.w && age >= 0 && age < again {
		return
	}
	p.at, p.wide = f.Now, p.w
	text, err := p.text(f, p.pod, p.w-1)
	if err != nil {
		text = err.Error()
	}
	p.lines = p.lines[:0]
	for _, l := range p.Theme.CleanLines(text) {
		p.lines = append(p.lines, Text{Line: l})
	}
	p.lines[0].Tone = toneIf(err == nil, style.Strong)
	p.lay()
}

// again is how long a text stays as it is.
const again = time.Second

// whyText is what kubeloupe why prints.
func whyText(f Frame, pod trace.Pod, w int) (string, error) {
	r := f.History.Report(pod, f.Now)
	if r == nil {
		return "", fmt.Errorf("the records of %s are not kept", pod)
	}
	var b bytes.Buffer
	err := why.Text(&b, r, why.TextOptions{Width: w, Zone: time.Local})
	return b.String(), err
}

// describeText is what kubeloupe inspect pod prints, yamlText the same as YAML.
func describeText(f Frame, pod trace.Pod, w int) (string, error) {
	return inspected(f, pod, report.Text, w)
}

func yamlText(f Frame, pod trace.Pod, w int) (string, error) {
	return inspected(f, pod, report.YAML, w)
}

func inspected(f Frame, pod trace.Pod, format report.Format, w int) (string, error) {
	t, err := report.Make("pod", f.Model, report.Args{Pod: pod.String(), Now: f.Now})
	if err != nil {
		return "", fmt.Errorf("%s is no longer known: %w", pod, err)
	}
	var b bytes.Buffer
	err = report.Write(&b, t, format, w)
	return b.String(), err
}
