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
		case *trace.NodeEvent:
			if e.Type != trace.EventWarning {
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
