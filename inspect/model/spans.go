package model

// begin registers functions for the span that the current record begins: drop is called when it ends, and removes it
// from lists; mark, which may be nil, is called when its end may have been lost, and marks it uncertain.
func (m *Model) begin(drop, mark func()) { m.kept.Watch(m.now, drop, mark) }

// end closes the span that the current record ends.
func (m *Model) end() { m.kept.Close(m.now) }
