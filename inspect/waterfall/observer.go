package waterfall

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// sighting is who saw something, and how exactly they knew the time.
type sighting struct {
	by        trace.Observer
	precision time.Duration
}

// collectOthers notes what others than the agent saw, or the agent not exactly. Of a begin and an end the less exact one counts.
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

// observed puts into rows who saw what they show.
func (w *Waterfall) observed(rows []Row) {
	for i := range rows {
		s, ok := w.others[rows[i].Span]
		if !ok && rows[i].Kind == RowSpan {
			s.by = trace.ObserverRuntimeSpan // made of what its spans say
		}
		rows[i].Observer, rows[i].Precision = s.by, s.precision
	}
}
