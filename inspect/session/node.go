package session

import (
	"math"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/store"
)

// NodeCase returns the node's own case, without a pod: its records from a time on, and what was open then. now is the current time, zero
// means the newest record's; from zero means all.
func (s *Session) NodeCase(from, now time.Time) *cause.Case {
	if now.IsZero() {
		now = s.Last()
	}
	c, first := &cause.Case{Now: now}, int64(0)
	if !from.IsZero() {
		first = from.UnixNano()
	}
	s.Node(first, math.MaxInt64, func(it *store.Item) bool {
		c.Node = append(c.Node, &it.Record)
		return true
	})
	return c
}
