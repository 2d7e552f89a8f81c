package pods

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Starting reports whether a pod was seen less than a time ago and is not ready, finished or terminating. It does not
// block.
func (s *Store) Starting(within time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.pods {
		over := e.status.Phase == v1.PodSucceeded || e.status.Phase == v1.PodFailed
		if !e.ready && !over && !e.refused && e.ended.IsZero() && time.Since(e.seenAt) < within {
			return true
		}
	}
	return false
}
