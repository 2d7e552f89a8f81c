package model

import "github.com/kubeloupe/kubeloupe/trace"

// shown is something open, as the model shows it.
type shown struct {
	gone func() // takes it out of whatever shows it
	lost func() // marks it uncertain there; nil where nothing does
}

func (s shown) drop() { s.gone() }

func (s shown) mark() {
	if s.lost != nil {
		s.lost()
	}
}

// begin notes an open span. drop and mark are called at most once each; they must not use r, which is the caller's.
func (m *Model) begin(r *trace.Record, drop, mark func()) { m.open.Begin(r, shown{drop, mark}) }
