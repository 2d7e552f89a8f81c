package session

// Sizes are how many traces and stops are kept.
func Sizes(s *Session) (traces, stops int) { return len(s.byTrace), len(s.stops) }
