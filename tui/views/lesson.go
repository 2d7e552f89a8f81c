package views

import (
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/learn"
)

// Teacher is a page that can explain what is selected on it, or what it is about.
type Teacher interface{ Lesson() learn.Lesson }

// lessonOf is the lesson about the selected row, or about the page if none is selected.
func lessonOf[R any](l *list[R], row func(R) learn.Lesson, page learn.Lesson) learn.Lesson {
	if r, ok := l.tbl.Selected(); ok {
		return row(r)
	}
	return page
}

// Lesson implements Teacher.
func (p *Loop) Lesson() learn.Lesson {
	return lessonOf(&p.list, func(l *model.Loop) learn.Lesson { return learn.Loop(l.Case) }, learn.Concept("syncloop"))
}

// Lesson implements Teacher.
func (p *Pods) Lesson() learn.Lesson { return lessonOf(&p.list, podLesson, learn.Concept("worker")) }

// podLesson is about what a pod waits for or does, or about its worker.
func podLesson(p *model.Pod) learn.Lesson {
	switch {
	case len(p.Waits) > 0:
		return learn.Wait(p.Waits[0].For)
	case len(p.Pulls) > 0:
		return learn.Action(trace.VerbImage)
	case len(p.Actions) > 0:
		return learn.Action(trace.Verb(p.Actions[0].Verb))
	}
	return learn.Concept("worker")
}

// Lesson implements Teacher.
func (p *CRI) Lesson() learn.Lesson {
	if p.part == part(&p.methods) {
		return lessonOf(&p.methods.list, func(m *model.Method) learn.Lesson { return learn.Call(m.Name) }, learn.Concept("cri"))
	}
	return lessonOf(&p.calls, func(c *model.Call) learn.Lesson { return learn.Call(c.Method) }, learn.Concept("cri"))
}

// Lesson implements Teacher.
func (*GC) Lesson() learn.Lesson { return learn.Concept("gc") }

// Lesson implements Teacher.
func (*Node) Lesson() learn.Lesson { return learn.Concept("node") }

// Lesson implements Teacher.
func (*Eviction) Lesson() learn.Lesson { return learn.Concept("eviction") }

// Lesson implements Teacher.
func (p *Resources) Lesson() learn.Lesson {
	switch p.at {
	case paneRefused:
		return learn.Concept("topology")
	case paneDevices:
		return learn.Concept("devices")
	}
	return learn.Concept("resources")
}

// Lesson implements Teacher.
func (*Status) Lesson() learn.Lesson { return learn.Concept("status") }

// Lesson implements Teacher.
func (p *Log) Lesson() learn.Lesson {
	l := &p.lines
	if p.part == part(&p.records) {
		l = &p.records
	}
	return lessonOf(l, func(r *logRow) learn.Lesson {
		if r.rec == nil {
			return learn.Concept("event")
		}
		return learn.Event(r.rec.Event)
	}, learn.Concept("event"))
}

// Lesson implements Teacher.
func (p *Volumes) Lesson() learn.Lesson {
	return lessonOf(&p.list, func(v *model.Volume) learn.Lesson { return learn.Volume(v.Op) }, learn.Action(trace.VerbVolumes))
}

// Lesson implements Teacher.
func (p *Probes) Lesson() learn.Lesson {
	return lessonOf(&p.list, func(r *model.Probe) learn.Lesson { return learn.Probe(r.Kind) }, learn.Probe(trace.ProbeReadiness))
}

// Lesson implements Teacher.
func (p *Sources) Lesson() learn.Lesson {
	return lessonOf(&p.list, func(r *sourceRow) learn.Lesson { return learn.Source(r.Name) }, learn.Source(trace.SourceFile))
}

// Lesson implements Teacher: it is about the longest phase of a start.
func (p *Starts) Lesson() learn.Lesson {
	return lessonOf(&p.list, func(s *model.Start) learn.Lesson { return learn.Segment(longest(s).Part) }, learn.Concept("critical-path"))
}

// Lesson implements Teacher: it is about the row under the cursor; above and below the waterfall about the one that took most of the start.
func (p *Pod) Lesson() learn.Lesson {
	row := p.longestBar()
	if p.cur < len(p.lines) && p.lines[p.cur].bar != nil {
		row = p.lines[p.cur].bar
	}
	if row == nil {
		return learn.Concept("worker")
	}
	return learn.Of(row.Row)
}

// Lesson implements Teacher.
func (p *Overview) Lesson() learn.Lesson {
	if p.cur >= len(p.items) {
		return learn.Concept("node")
	}
	pod := p.items[p.cur].pod
	for _, some := range [][]model.Pod{p.starting, p.trouble} {
		for i := range some {
			if some[i].Key == pod {
				return podLesson(&some[i])
			}
		}
	}
	for i := range p.slowest {
		if p.slowest[i].Pod == pod {
			return learn.Segment(longest(&p.slowest[i]).Part)
		}
	}
	if pod.IsZero() {
		return learn.Concept("cri")
	}
	return learn.Concept("worker")
}

// Lesson implements Teacher: it is about the action that is paused, or that runs.
func (p *Step) Lesson() learn.Lesson {
	if p.stop.Call != "" {
		return learn.Call(p.stop.Call)
	}
	for _, a := range p.stop.Actions {
		if a.ID == p.stop.Next {
			return learn.Action(a.Verb)
		}
	}
	return learn.Wait(trace.WaitGate)
}
