package otlp

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// waiting holds spans until the one above them comes. It is bounded in spans and bytes, and a trace has its share: the oldest go.
type waiting struct {
	below map[key][]span // by the span above
	ids   map[key]bool   // of those that wait
	of    map[trace.TraceID]int
	order []key // those above, in the order in which somebody began to wait for them
	n     int
	bytes int
	lost  uint64
}

func (w *waiting) hold(s span) {
	if w.of[s.trace] >= maxCallSpans {
		w.lost++
		return
	}
	above := key{s.trace, s.parent}
	if w.below[above] == nil {
		w.order = append(w.order, above)
	}
	w.below[above] = append(w.below[above], s)
	w.ids[s.key()] = true
	w.of[s.trace]++
	w.n++
	w.bytes += s.size()
	for w.n > maxHeld || w.bytes > maxHeldBytes {
		w.lost += uint64(len(w.take(w.order[0])))
	}
}

// take returns those that wait for a span, which wait no longer.
func (w *waiting) take(above key) []span {
	found := w.below[above]
	if found == nil {
		return nil
	}
	delete(w.below, above)
	w.order = slices.Delete(w.order, slices.Index(w.order, above), slices.Index(w.order, above)+1)
	for i := range found {
		delete(w.ids, found[i].key())
		w.n--
		w.bytes -= found[i].size()
		if w.of[found[i].trace]--; w.of[found[i].trace] == 0 {
			delete(w.of, found[i].trace)
		}
	}
	return found
}

// drop forgets those of a trace of which no call is known any more.
func (w *waiting) drop(id trace.TraceID) {
	if w.of[id] == 0 {
		return
	}
	for _, above := range slices.Clone(w.order) {
		if above.trace == id {
			w.lost += uint64(len(w.take(above)))
		}
	}
}

// size is about what a span takes, in bytes.
func (s *span) size() int {
	n := 256 + len(s.event.Name) + len(s.event.Service) + len(s.event.Err)
	for _, kv := range s.event.Attrs {
		n += 32 + len(kv.K) + len(kv.V)
	}
	return n
}
