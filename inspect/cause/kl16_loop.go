package cause

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// blockedFor is how long an iteration of the syncLoop takes that blocks it: it only hands on, in well under a millisecond.
const blockedFor = 100 * time.Millisecond

const loopRemedy = "Fix what kept the iteration busy. If no record shows it, take the agent's goroutines while it lasts (/debug/pprof/goroutine?debug=2) and report it: an iteration should only hand on."

func blockedLoop() Rule {
	return Rule{
		ID: "KL16", Name: "syncLoop blocked",
		About: "An iteration of the syncLoop took 100 ms or more, and meanwhile nothing that happened reached the pod's worker. It is reported when " +
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
	if _, rejected := c.Rejected(); rejected { // its life ends within the iteration that rejects it, and nothing waits for that iteration's end
		return nil
	}
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
		name := strings.TrimSpace(string(l.Event.Case) + " " + string(l.Event.Op))
		what, doing := c.busyWith(l)
		what = fmt.Sprintf("iteration %d (%s), %s", l.Event.N, name, cmp.Or(what, "no record shows by what"))
		all = append(all, holdup{at: at, what: what, evidence: evidence(l.Rec(), "syncLoop iteration %d (%s): %s", l.Event.N, name, took(l.Dur(), l.Open)), open: l.Open})
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
	f.Sentence = fmt.Sprintf("the syncLoop was blocked, which delayed the pod for %s: %s", took(f.Cost, f.Current), longestOf(all).what)
	f.Remedy = loopRemedy
	f.RuledOutBy = "The pod's worker was busy itself all that time, or the events that it waited for came after the iteration."
	return []Finding{f}
}

// busyWith says what took most of an iteration: the longest of what it caused; of several, what is most of it from within.
func (c *Case) busyWith(l *Span[*trace.Loop]) (what string, ev *Evidence) {
	best, ups := l.Dur()/4, c.nodeParents()
	note := func(rec *trace.Record, from, to time.Time, text string) {
		d := earlierOf(to, l.Stop).Sub(laterOf(from, l.Start))
		if d <= 0 || d < best || !within(ups, rec.Span, l.ID()) {
			return
		}
		best, what = d, text+" "+took(d, l.Open)
		ev = new(evidence(rec, "%s", what))
	}
	for _, s := range nodeSpans[*trace.CgroupOp](c) {
		note(s.Rec(), s.Start, s.Stop, string(s.Event.Op)+" of cgroup "+s.Event.Path)
	}
	for _, s := range nodeSpans[*trace.Volume](c) {
		note(s.Rec(), s.Start, s.Stop, string(s.Event.Op)+" of volume "+s.Event.Name)
	}
	for _, s := range nodeSpans[*trace.CRICall](c) {
		note(s.Rec(), s.Start, s.Stop, "the runtime's "+s.Event.Method)
	}
	for _, s := range nodeSpans[*trace.APICall](c) {
		note(s.Rec(), s.Start, s.Stop, "the API server's "+string(s.Event.Verb)+" "+s.Event.Resource)
	}
	for _, s := range nodeSpans[*trace.Wait](c) {
		note(s.Rec(), s.Start, s.Stop, "a wait ("+string(s.Event.For)+") for "+say.On(s.Event))
	}
	return what, ev
}
