package semaphore

import "time"

// tailShare divides the slots: the tail may have one more for each three.
const tailShare = 3

// tail lets the last that wait begin together with those before them, in up to a third more slots, when one is released: alone, they would
// leave a part of the machine idle. Ten pods in three slots then end in three rounds instead of four. A fixed number of slots has no tail.
// Called with mu.
func (s *Slots) tail(now time.Time) {
	extra := min(s.size/tailShare, s.bounds.Max-s.size)
	if more := s.waiting - (s.size - s.busy()); more <= 0 || more > extra {
		return
	}
	for s.waiting > 0 && s.busy() < s.size+extra {
		w := s.first()
		if w == nil {
			return
		}
		s.admit(w, now)
	}
}
