package model

// Iterating returns the iteration of syncLoop that is under way; false when none
// is known to be, which includes one whose end may have been lost.
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
