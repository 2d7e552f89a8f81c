package cause

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// blockedFor is how long an iteration of the syncLoop takes that blocks it: it only hands on, in well under a millisecond.
const blockedFor = 100 * time.Millisecond

func blockedLoop() Rule {
	return Rule{
		ID: "KL16", Name: "syncLoop blocked",
		About: "An iteration of the syncLoop took 100 ms or more, and meanwhile nothing that happened reached the pod's worker. It speaks where " +
			"10 ms and 5 % of the critical path or more lie in such an iteration and no record of the pod's own covers them, or where an " +
			"event of the runtime about the pod had to wait for its end.",
		Find: findBlockedLoop,
	}
}

// heldBy is what of the critical path an iteration held up. An event that came meanwhile was handled after it.
func (c *Case) heldBy(l *Span[*trace.Loop]) (at []stretch, late *trace.Record) {
	for _, e := range ownPoints[*trace.PLEGEvent](c) {
		if t := e.Rec.At(); !t.Before(l.Start) && t.Before(l.Stop) {
			late = e.Rec
			break
		}
	}
	tells := c.toTell()
	idle := c.pathStretches(func(s waterfall.Segment) bool {
		return s.Kind == waterfall.SegmentUnexplained || tells[s.Span()]
	})
	at = clip(idle, l.Start, l.Stop)
	if late != nil {
		initEnds := c.pathStretches(func(s waterfall.Segment) bool { return s.Wait == trace.WaitInit })
		at = append(at, clip(initEnds, late.At(), l.Stop)...)
	}
	return at, late
}

func findBlockedLoop(c *Case) []Finding {
	loops := nodeSpans[*trace.Loop](c)
	var all []holdup
	f := Finding{Confidence: Likely}
	for i := range loops {
		l := &loops[i]
		if l.Dur() < blockedFor {
			continue
		}
		at, late := c.heldBy(l)
		if covered(at) == 0 {
			continue
		}
		name := strings.TrimSpace(l.Event.Case + " " + l.Event.Op)
		what, doing := c.busyWith(l)
		what = fmt.Sprintf("iteration %d (%s), %s", l.Event.N, name, cmp.Or(what, "no record says on what"))
		all = append(all, holdup{at, what, evidence(l.Rec(), "syncLoop iteration %d (%s): %s", l.Event.N, name, took(l.Dur(), l.Open)), l.Open})
		f.Evidence = append(f.Evidence, all[len(all)-1].evidence)
		if doing != nil {
			f.Evidence = append(f.Evidence, *doing)
		}
		if late != nil {
			f.Confidence = Certain
			f.Evidence = append(f.Evidence, evidence(late, "an event of the pod came during it"))
		}
	}
	f.Cost = covered(stretches(all))
	f.Current = openOf(all) && !c.up()
	if len(all) == 0 || !c.speaks(f.Cost, f.Current) {
		return nil
	}
	f.Evidence = few(f.Evidence)
	f.Sentence = fmt.Sprintf("the syncLoop was blocked, which held the pod up for %s: %s", took(f.Cost, f.Current), longestOf(all).what)
	f.Remedy = "Mend what the iteration was busy with. If no record says it, take the agent's goroutines while it lasts (/debug/pprof/goroutine?debug=2) and report it: an iteration should only hand on."
	f.Disproof = "The pod's worker was busy itself all that time, or the events that it waited for came after the iteration."
	return []Finding{f}
}

// busyWith says what took most of an iteration: the longest of what it caused; of several, what is most of it from within.
func (c *Case) busyWith(l *Span[*trace.Loop]) (what string, ev *Evidence) {
	best := l.Dur() / 4
	note := func(rec *trace.Record, from, to time.Time, text string) {
		d := covered(clip([]stretch{{from, to}}, l.Start, l.Stop))
		if d < best || !c.causedBy(rec, l.ID()) {
			return
		}
		best, what = d, text+" "+took(d, l.Open)
		e := evidence(rec, "%s", what)
		ev = &e
	}
	for i, all := 0, nodeSpans[*trace.CgroupOp](c); i < len(all); i++ {
		note(all[i].Rec(), all[i].Start, all[i].Stop, all[i].Event.Op+" of cgroup "+all[i].Event.Path)
	}
	for i, all := 0, nodeSpans[*trace.Volume](c); i < len(all); i++ {
		note(all[i].Rec(), all[i].Start, all[i].Stop, all[i].Event.Op+" of volume "+all[i].Event.Name)
	}
	for i, all := 0, nodeSpans[*trace.CRICall](c); i < len(all); i++ {
		note(all[i].Rec(), all[i].Start, all[i].Stop, "the runtime's "+all[i].Event.Method)
	}
	for i, all := 0, nodeSpans[*trace.APICall](c); i < len(all); i++ {
		note(all[i].Rec(), all[i].Start, all[i].Stop, "the API server's "+all[i].Event.Verb+" "+all[i].Event.Resource)
	}
	for i, all := 0, nodeSpans[*trace.Wait](c); i < len(all); i++ {
		note(all[i].Rec(), all[i].Start, all[i].Stop, "a wait ("+string(all[i].Event.For)+") for "+all[i].Event.On)
	}
	return what, ev
}

// causedBy reports whether a record of the node is part of a span.
func (c *Case) causedBy(r *trace.Record, outer trace.SpanID) bool {
	if r.Parent == outer {
		return true
	}
	ups := map[trace.SpanID]trace.SpanID{}
	for i := range c.Node {
		if n := &c.Node[i]; n.Parent != 0 {
			ups[n.Span] = n.Parent
		}
	}
	return within(ups, r.Parent, outer)
}
