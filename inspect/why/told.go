package why

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// maxWarnings is how many warnings a report has: the last ones.
const maxWarnings = 16

// Warning is Kubernetes Events of type Warning about one thing: the pod or a container, with one reason.
type Warning struct {
	Reason string `json:"reason"`
	// Field is the field of the pod that they are about, such as spec.containers{web}.
	Field string `json:"field,omitempty"`
	// Message is what the last one says, FirstMessage what the first said where there were several.
	Message      string `json:"message"`
	FirstMessage string `json:"first_message,omitempty"`
	// Count is how many were seen: the first at First, the last at Last.
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// VolumeHealth is what the CSI driver of a volume reports.
type VolumeHealth struct {
	Volume string    `json:"volume"` // its name on the node
	Since  time.Time `json:"since"`
	// Subject is the volume by its names in the pod, Text what is wrong.
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// told sets what statuses and Events say of the pod, which is what kubectl describe shows.
func (r *Report) told(c *cause.Case) {
	at := map[[2]string]int{}
	for i := range c.Records {
		rec := &c.Records[i]
		switch e := rec.Event.(type) {
		case *trace.PodStatus:
			r.Reason, r.Message = e.Reason, e.Message
			if len(e.Containers) > 0 {
				r.Containers = e.Containers
			}
		case *trace.Decision:
			r.judged(rec, e)
		case *trace.NodeEvent:
			if e.Type != trace.EventWarning || e.Object != "" {
				continue
			}
			key := [2]string{e.Reason, e.Field}
			n, known := at[key]
			if !known {
				n = len(r.Warnings)
				at[key] = n
				r.Warnings = append(r.Warnings, Warning{Reason: e.Reason, Field: e.Field, First: rec.At()})
			}
			w := &r.Warnings[n]
			if w.Count == 1 {
				w.FirstMessage = w.Message
			}
			w.Count, w.Last, w.Message = w.Count+1, rec.At(), say.NodeEvent(e)
		}
	}
	sorting.Stable(r.Warnings, func(a, b *Warning) int { return a.Last.Compare(b.Last) })
	if n := len(r.Warnings) - maxWarnings; n > 0 {
		r.Warnings, r.WarningsClipped = r.Warnings[n:], n
	}
}

// judged takes a decision about the health of a volume.
func (r *Report) judged(rec *trace.Record, e *trace.Decision) {
	if e.By != trace.ByVolumes || e.Volume == "" {
		return
	}
	r.Unhealthy = slices.DeleteFunc(r.Unhealthy, func(v VolumeHealth) bool { return v.Volume == e.Volume })
	if e.Verdict == trace.VerdictUnhealthy {
		r.Unhealthy = append(r.Unhealthy, VolumeHealth{Volume: e.Volume, Since: rec.At(), Subject: e.Subject, Text: e.Reason})
	}
}

// unhealthy writes the volumes of which their drivers report problems.
func (p *page) unhealthy(r *Report) {
	if len(r.Unhealthy) == 0 {
		return
	}
	p.head("UNHEALTHY VOLUMES")
	for _, v := range r.Unhealthy {
		p.wrapped("  ", fmt.Sprintf("%s since %s: %s", v.Subject, p.clock(v.Since), v.Text))
	}
}

// containers writes the containers' states, where there is more to say of them than that they run.
func (p *page) containers(r *Report) {
	quiet := func(c trace.ContainerStatus) bool {
		return c.State == trace.ContainerRunning && c.Restarts == 0 && c.Last == nil || c.Init && c.State == trace.ContainerTerminated && c.ExitCode == 0
	}
	if !slices.ContainsFunc(r.Containers, func(c trace.ContainerStatus) bool { return !quiet(c) }) {
		return
	}
	p.head("CONTAINERS")
	for i := range r.Containers {
		c := &r.Containers[i]
		name := c.Name
		if c.Init {
			name = "init " + name
		}
		p.wrapped("  "+name+"  ", say.Container(c))
	}
}

// warnings writes what Events warn of.
func (p *page) warnings(r *Report) {
	if len(r.Warnings) == 0 {
		return
	}
	p.head("WARNINGS (Kubernetes Events)")
	if r.WarningsClipped > 0 {
		p.line("  ... %d earlier ones", r.WarningsClipped)
	}
	for i := range r.Warnings {
		w := &r.Warnings[i]
		if w.Count > 1 && w.FirstMessage != w.Message {
			p.wrapped("  "+p.clock(w.First)+" ", w.Reason+": "+human.Line(w.FirstMessage))
		}
		text := w.Reason
		if w.Count > 1 {
			text += fmt.Sprintf(" (%d times)", w.Count)
		}
		p.wrapped("  "+p.clock(w.Last)+" ", text+": "+human.Line(w.Message))
	}
}
