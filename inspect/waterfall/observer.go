package waterfall

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// sighting is an observer, with the precision of its times.
type sighting struct {
	by        trace.Observer
	precision time.Duration
}

// collectOthers collects what other observers saw, or the agent with less precision. Of a begin and an end, the less
// precise one counts.
func (w *Waterfall) collectOthers(own []trace.Record) {
	w.others = map[trace.SpanID]sighting{}
	for i := range own {
		r := &own[i]
		if r.Observer == trace.ObserverAgent && r.Precision == 0 {
			continue
		}
		s := w.others[r.Span]
		w.others[r.Span] = sighting{by: r.Observer, precision: max(s.precision, r.Precision.Duration())}
	}
}

// observed adds the observers to the rows.
func (w *Waterfall) observed(rows []Row) {
	for i := range rows {
		s, ok := w.others[rows[i].Span]
		if !ok && rows[i].Kind == RowSpan {
			s.by = trace.ObserverRuntimeSpan // computed from its spans
		}
		rows[i].Observer, rows[i].Precision = s.by, s.precision
	}
}
