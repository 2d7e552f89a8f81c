package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// waited are the pod's waits of one sort.
type waited struct {
	spans []Span[*trace.Wait]
	// cost is how much of the critical path they took; of those after it in a pod that is not up, and those that continue, all their time so far.
	cost time.Duration
	// open is one that continues in a pod that is not up; nil when there is none.
	open *Span[*trace.Wait]
}

// waited adds up the pod's waits of the wanted sort.
func (c *Case) waited(wanted func(*trace.Wait) bool) waited {
	var w waited
	after, still := c.after()
	covered := after // until where time after the path was counted
	for _, s := range ownSpans[*trace.Wait](c) {
		if !wanted(s.Event) {
			continue
		}
		w.spans = append(w.spans, s)
		w.cost += c.cost(s.ID(), s.Start, s.Stop)
		if s.Open && still {
			w.open = new(s)
		}
		if from := later(s.Start, covered); still && s.Stop.After(from) {
			w.cost += s.Stop.Sub(from)
			covered = s.Stop
		}
	}
	if w.open != nil && w.cost == 0 { // beside the critical path of a start that continues
		w.cost = w.open.Dur()
	}
	return w
}

// before are the waits that began before a time. What they cost stays: later ones are on no path to the start.
func (w waited) before(t time.Time) waited {
	spans := w.spans[:0:0]
	for _, s := range w.spans {
		if s.Start.Before(t) {
			spans = append(spans, s)
		}
	}
	w.spans = spans
	if w.open != nil && !w.open.Start.Before(t) {
		w.open = nil
	}
	return w
}

// after is from when on a pod that is not up, or ends, goes through something that the critical path does not show.
func (c *Case) after() (from time.Time, still bool) {
	switch c.Stage() {
	case Starting:
		if c.Waterfall != nil {
			from = c.Waterfall.Origin.Add(c.length())
		}
		return from, true
	case Down:
		return c.DownSince(), true
	case Ending:
		return c.ending()
	case Up, Over, Unknown:
	}
	return time.Time{}, false
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
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

// fails is speaks of what fails. A kubelet's log is often a part, and may end, where the pod fails: then that counts, whatever it cost by then.
func (c *Case) fails(cost time.Duration, current bool) bool {
	return c.speaks(cost, current) || current && c.fromLog()
}

// fromLog reports whether the pod was seen in a kubelet's log, which may begin and end anywhere.
func (c *Case) fromLog() bool {
	return len(c.Records) > 0 && c.Records[0].Observer == trace.ObserverKubeletLog
}

// speaks reports whether a cost is worth a word: on the critical path, or because it continues in a pod that is not up.
func (c *Case) speaks(cost time.Duration, current bool) bool {
	return c.material(cost) || current && cost >= leastCost
}
