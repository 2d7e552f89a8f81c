package ship

import "github.com/kubeloupe/kubeloupe/trace"

const (
	maxGCs  = 16
	maxOfGC = 400 // records of one
)

// collector collects what is below each run of the garbage collection that is going on, by its span.
type collector map[trace.SpanID]*collected

type collected struct {
	spans map[trace.SpanID]bool
	recs  []trace.Record
}

// see takes in a record. It returns the records of a run that has ended.
func (c collector) see(r *trace.Record) []trace.Record {
	if _, ok := r.Event.(*trace.GC); ok && r.Edge == trace.EdgeBegin && len(c) < maxGCs {
		c[r.Span] = &collected{spans: map[trace.SpanID]bool{r.Span: true}, recs: []trace.Record{*r}}
		return nil
	}
	if _, ok := r.Event.(*trace.GC); ok && r.Edge == trace.EdgeEnd {
		run := c[r.Span]
		delete(c, r.Span)
		if run == nil {
			return []trace.Record{*r}
		}
		return append(run.recs, *r)
	}
	for _, run := range c {
		if len(run.recs) < maxOfGC && (run.spans[r.Span] || r.Parent != 0 && run.spans[r.Parent]) {
			run.spans[r.Span] = true
			own := *r
			own.Event = trace.WithoutBodies(r.Event)
			run.recs = append(run.recs, own)
		}
	}
	return nil
}

// collected has a run of the garbage collection sent: one that failed, was slow or removed something; of the others, some.
func (s *Shipper) collected(end *trace.Record, recs []trace.Record) {
	e, ok := end.Event.(*trace.GC)
	if !ok || end.At().Before(s.began) {
		return
	}
	t := part(end, recs)
	switch {
	case e.Err != "" || end.Dur > Slow:
		s.ship(withAttr(t, "kubeloupe.sent_because", "slow or failed"), true)
	case e.Removed > 0:
		s.ship(withAttr(t, "kubeloupe.sent_because", "removed"), false)
	case sampled(end.Trace, s.cfg.PerMillion):
		s.ship(withAttr(t, "kubeloupe.sent_because", "sampled"), false)
	}
}
