package model

// begin has functions be called when what the present record begins is over, which takes it out of whatever shows it, and when its end may have
// been lost, which marks it uncertain there; the latter may be nil.
func (m *Model) begin(drop, mark func()) { m.kept.Watch(m.now, drop, mark) }

// end closes what the present record ends.
func (m *Model) end() { m.kept.Close(m.now) }
