package views

import (
	"cmp"
	"sort"

	"github.com/kubeloupe/kubeloupe/trace"
)

// historySize is how many records are kept for drilling in.
const historySize = 8192

// History is the last records as they came, and the causes that are found in them.
type History struct {
	recs   []trace.Record
	next   int
	causes findings
}

// NewHistory returns an empty history.
func NewHistory() *History { return &History{causes: newFindings()} }

// Lost says that n records are missing before the next one.
func (h *History) Lost(n uint64) { h.causes.session.Lost(n) }

// Add keeps a record and drops the oldest one.
func (h *History) Add(r *trace.Record) {
	h.causes.session.Apply(r)
	h.keep(r)
}

func (h *History) keep(r *trace.Record) {
	if len(h.recs) < historySize {
		h.recs = append(h.recs, *r)
		return
	}
	h.recs[h.next] = *r
	h.next = (h.next + 1) % historySize
}

// Len is how many records there are.
func (h *History) Len() int { return len(h.recs) }

// At returns the i-th record, 0 being the oldest. It must not be changed.
func (h *History) At(i int) *trace.Record { return &h.recs[(h.next+i)%len(h.recs)] }

// Seq returns the record with that number, nil when it is not kept.
func (h *History) Seq(seq uint64) *trace.Record {
	i, found := sort.Find(h.Len(), func(i int) int { return cmp.Compare(seq, h.At(i).Seq) })
	if !found {
		return nil
	}
	return h.At(i)
}

// Last returns the newest record that f accepts, nil when there is none.
func (h *History) Last(f func(*trace.Record) bool) *trace.Record {
	for i := h.Len() - 1; i >= 0; i-- {
		if r := h.At(i); f(r) {
			return r
		}
	}
	return nil
}
