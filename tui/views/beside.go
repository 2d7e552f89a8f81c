package views

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/compare"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui/learn"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Other requests a choice of another start, to show it beside the start of this pod.
type Other struct{ Pod trace.Pod }

// Beside shows two starts: their waterfalls beside each other where there are panels, and how they differ, as kubeloupe trace --diff tells it.
type Beside struct {
	*retold
	a, b  *Pod
	w, h  int
	upper int // lines of the waterfalls, 0 without panels
}

// NewBeside returns the page. b is how it differs from a.
func NewBeside(look Look, a, b trace.Pod) *Beside {
	p := &Beside{a: NewPod(look), b: NewPod(look)}
	for pod, page := range map[trace.Pod]*Pod{a: p.a, b: p.b} {
		page.aside = true
		page.Show(pod)
	}
	p.retold = newRetold(look, "Compare", b, func(f Frame, _ trace.Pod, _ int) (string, error) { return diffText(f, a, b) })
	p.title = "compare  A " + look.Theme.Clean(a.String()) + "  B " + look.Theme.Clean(b.String())
	return p
}

// diffText is what kubeloupe trace --diff prints.
func diffText(f Frame, a, b trace.Pod) (string, error) {
	wa, err := f.Model.Waterfall(a, f.Now)
	if err != nil {
		return "", fmt.Errorf("start A: %w", err)
	}
	wb, err := f.Model.Waterfall(b, f.Now)
	if err != nil {
		return "", fmt.Errorf("start B: %w", err)
	}
	var out bytes.Buffer
	err = compare.Text(&out, compare.Diff(wa, wb))
	return out.String(), err
}

// Panels implements Paneled.
func (*Beside) Panels() {}

// SetSize implements Page.
func (p *Beside) SetSize(w, h int) {
	p.w, p.h, p.upper = w, h, 0
	if !p.Scene.Panels {
		p.retold.SetSize(w, h)
		return
	}
	p.upper = h / 2
	left := w / 2
	p.a.SetSize(left, p.upper)
	p.b.SetSize(w-left, p.upper)
	p.retold.SetSize(w-style.PanelSides, h-p.upper-style.PanelSides)
}

// Refresh implements Page.
func (p *Beside) Refresh(f Frame) {
	if p.upper > 0 {
		p.a.Refresh(f)
		p.b.Refresh(f)
	}
	p.retold.Refresh(f)
}

// View implements Page.
func (p *Beside) View() string {
	if p.upper == 0 {
		return p.retold.View()
	}
	above := style.Beside(strings.Split(p.a.View(), "\n"), strings.Split(p.b.View(), "\n"))
	title, count := p.Title()
	below := p.Theme.Panel(style.Panel{Title: title, Count: count, Focus: true}, strings.Split(p.retold.View(), "\n"), p.w, p.h-p.upper)
	return strings.Join(append(above[:min(len(above), p.upper)], below...), "\n")
}

// Lesson implements Teacher.
func (*Beside) Lesson() learn.Lesson { return learn.Concept("critical-path") }

// StartsBeside are the starts that one can be compared with: those of earlier pods of its name, those of pods whose names begin alike, as those of
// one owner do, the one with the median time, which is usual, and the others; of each group the latest first.
func StartsBeside(all []model.Start, pod trace.Pod) (others []model.Start, usual trace.Pod) {
	var done []model.Start
	for _, s := range all {
		if s.ToStarted > 0 {
			done = append(done, s)
		}
	}
	sorting.Stable(done, func(a, b *model.Start) int { return cmp.Compare(a.ToStarted, b.ToStarted) })
	if len(done) > 0 {
		usual = done[(len(done)-1)/2].Pod
	}
	for _, s := range done {
		if s.Pod != pod {
			others = append(others, s)
		}
	}
	sorting.Stable(others, func(a, b *model.Start) int {
		return cmp.Or(cmp.Compare(kinship(b.Pod, pod, usual), kinship(a.Pod, pod, usual)), b.Started.Compare(a.Started))
	})
	return others, usual
}

// kinship is how near a pod is to the one that it is compared with.
func kinship(a, b, usual trace.Pod) int {
	switch {
	case a.Namespace == b.Namespace && a.Name == b.Name:
		return 3
	case a.Namespace == b.Namespace && owner(a.Name) == owner(b.Name):
		return 2
	case a == usual:
		return 1
	}
	return 0
}

// owner is a name without its last part, which a controller makes up.
func owner(name string) string {
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		return name[:at]
	}
	return name
}
