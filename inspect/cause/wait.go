package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// waited are the pod's waits of one sort.
type waited struct {
	spans []Span[*trace.Wait]
	// cost is how much of the critical path they took; of those after it in a pod that is not up, and those that go on, all their time so far.
	cost time.Duration
	// open is one that goes on in a pod that is not up; nil when there is none.
	open *Span[*trace.Wait]
}

// waited adds up the pod's waits of the wanted sort.
func (c *Case) waited(wanted func(*trace.Wait) bool) waited {
	var w waited
	for _, s := range ownSpans[*trace.Wait](c) {
		if !wanted(s.Event) {
			continue
		}
		w.spans = append(w.spans, s)
		cost := c.cost(s.ID(), s.Start, s.Stop)
		if s.Open && c.stuck() {
			w.open = new(s)
		}
		if cost == 0 && (w.open != nil && s.Open || c.since(s.Stop)) {
			cost = s.Dur()
		}
		w.cost += cost
	}
	return w
}

// since reports whether a time lies after the critical path, where a pod that is not up, or ends, still goes through something.
func (c *Case) since(t time.Time) bool {
	switch c.Stage() {
	case Starting:
		return c.Fall == nil || t.Sub(c.Fall.Origin) > c.length()
	case Down:
		return t.After(c.DownSince())
	case Ending:
		since, _ := c.ending()
		return t.After(since)
	case Up, Over:
	}
	return false
}

// longest is the wait that lasted longest; call it where there is one.
func (w *waited) longest() *Span[*trace.Wait] {
	best := &w.spans[0]
	for i := range w.spans {
		if w.spans[i].Dur() > best.Dur() {
			best = &w.spans[i]
		}
	}
	return best
}

// evidence are the waits as records.
func (w *waited) evidence() (out []Evidence) {
	for i := range w.spans {
		out = append(out, waitEvidence(&w.spans[i]))
	}
	return out
}

// speaks reports whether a cost is worth a word: on the critical path, or because it goes on in a pod that is not up.
func (c *Case) speaks(cost time.Duration, current bool) bool {
	return c.material(cost) || current && cost >= leastCost
}
