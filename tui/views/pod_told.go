package views

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

const (
	// lastVerdicts and lastEvents are how many decisions and Kubernetes Events about a pod are shown.
	lastVerdicts = 8
	lastEvents   = 12
	// minName and maxName are the least and the most columns of a container's name.
	minName = 9
	maxName = 32
)

// containers tells the state of each container, and which of its probes fail.
func (p *Pod) containers() {
	th := p.Theme
	if len(p.pod.Containers) == 0 || !p.section(sectionContainers, p.containerCount()) {
		return
	}
	names, width := make([]string, len(p.pod.Containers)), minName
	for i, c := range p.pod.Containers {
		names[i] = th.Clean(c.Name)
		if c.Init {
			names[i] = "init " + names[i]
		}
		width = min(max(width, fit.Width(names[i])), maxName)
	}
	p.add(style.Head, "  "+th.Left("NAME", width)+" "+th.Left("STATE", 10)+th.Right("RESTARTS", 9)+th.Right("EXIT", 5)+"  "+
		th.Left("REASON", 18)+"  ID")
	for i, c := range p.pod.Containers {
		exit, tone := style.Unknown, containerTone(&c)
		if c.State == trace.ContainerTerminated {
			exit = fmt.Sprint(c.ExitCode)
		}
		p.add(tone, th.Signed(tone, "  "+th.Left(names[i], width))+" "+th.Left(th.Clean(string(c.State)), 10)+th.Right(style.Count(c.Restarts), 9)+
			th.Right(exit, 5)+"  "+th.Left(th.Clean(orUnknown(c.Reason)), 18)+"  "+th.Clean(orUnknown(ShortID(c.ID))))
		p.failing(c.Name)
	}
}

func (p *Pod) containerCount() string {
	if p.pod.StatusAt.IsZero() {
		return style.Count(len(p.pod.Containers))
	}
	return fmt.Sprintf("%d of %d ready", p.pod.Ready, p.pod.Total)
}

// containerTone is failed for a container that ended badly or cannot start.
func containerTone(c *trace.ContainerStatus) style.Tone {
	return toneIf(c.State == trace.ContainerTerminated && c.ExitCode != 0 || complaint(c) != "" && c.State == trace.ContainerWaiting, style.Fail)
}

// failing adds the probes of a container that fail: red where that counts, amber while it does not yet.
func (p *Pod) failing(container string) {
	th := p.Theme
	for i := range p.probes {
		pr := &p.probes[i]
		if pr.Container != container || pr.State != trace.ProbeDenies && !failing(pr) {
			continue
		}
		tone := style.Slow
		if pr.State == trace.ProbeDenies {
			tone = style.Fail
		}
		text := fmt.Sprintf("%s %s probe: %s", th.Glyphs.LastChild, pr.Kind, result(pr))
		if n := run(pr); n != "" {
			text += " " + n
		}
		if next := pr.Next.Sub(p.now); !pr.Next.IsZero() && next > 0 {
			text += ", next in " + style.Age(next)
		}
		if pr.Output != "" {
			text += ": " + pr.Output
		}
		p.add(tone, th.Lead(tone, 4)+th.Clean(text))
	}
}

// told adds the Kubernetes Events about the pod.
func (p *Pod) told() {
	th := p.Theme
	if len(p.events) == 0 || !p.section(sectionEvents, style.Count(len(p.events))) {
		return
	}
	for _, e := range p.events[max(len(p.events)-lastEvents, 0):] {
		tone := toneIf(e.Level == trace.LevelWarn, style.Slow)
		p.add(tone, th.Lead(tone, 2)+p.Scene.Time(e.At)+"  "+th.Left(th.Clean(e.Reason), 17)+" "+th.Clean(e.Text))
	}
}

// verdicts adds the decisions about the pod.
func (p *Pod) verdicts() {
	th := p.Theme
	if len(p.verdict) == 0 || !p.section(sectionDecisions, style.Count(len(p.verdict))) {
		return
	}
	for _, d := range p.verdict[max(len(p.verdict)-lastVerdicts, 0):] {
		tone := verdictTone(&d)
		p.add(tone, th.Lead(tone, 2)+p.Scene.Time(d.At)+"  "+th.Left(th.Clean(string(d.By)), 12)+" "+th.Left(th.Clean(string(d.Verdict)), 8)+" "+th.Clean(d.Reason))
	}
}

func verdictTone(d *model.Decision) style.Tone {
	return toneIf(d.Verdict == trace.VerdictReject, style.Fail)
}

func orUnknown(s string) string {
	if s == "" {
		return style.Unknown
	}
	return s
}
