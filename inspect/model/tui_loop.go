package model

// Iterating returns the running iteration of syncLoop; false if none is known, or if its end may have been lost.
func (m *Model) Iterating() (l Loop, ok bool) {
	m.loops.Back(func(last *loop) bool {
		if last.Running && !last.Uncertain {
			l, ok = last.Loop, true
			l.Caused = nil
		}
		return false
	})
	return l, ok
}
