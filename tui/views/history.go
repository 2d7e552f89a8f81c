package views

import (
	"cmp"
	"iter"
	"sort"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Recent is how many records are kept for drilling in.
const Recent = 8192

// History is the last records as they came, and the causes that are found in what is kept: a projection of a store.
type History struct {
	kept   *store.Store
	causes findings
}

// NewHistory returns the history of what a store keeps.
func NewHistory(of *store.Store) *History { return &History{kept: of, causes: newFindings(of)} }

// Len is how many records there are.
func (h *History) Len() int {
	n, _ := h.kept.Recent()
	return n
}

// At returns the i-th record, 0 being the oldest. It must not be changed.
func (h *History) At(i int) *trace.Record {
	_, at := h.kept.Recent()
	return at(i)
}

// All yields the records, the oldest first.
func (h *History) All() iter.Seq[*trace.Record] {
	return func(yield func(*trace.Record) bool) {
		n, at := h.kept.Recent()
		for i := range n {
			if !yield(at(i)) {
				return
			}
		}
	}
}

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
