package pods

import "time"

// Starting reports whether a pod was seen less than a time ago and is not ready, finished or terminating. It does not
// block.
func (s *Store) Starting(within time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.pods {
		if !e.ready && !e.terminal() && !e.refused && e.ended.IsZero() && time.Since(e.seenAt) < within {
			return true
		}
	}
	return false
}
