package session

import (
	"math"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/store"
)

// NodeCase returns the node's own case, without a pod; now is the current time, zero means the newest record's.
func (s *Session) NodeCase(now time.Time) *cause.Case {
	if now.IsZero() {
		now = s.Last()
	}
	c := &cause.Case{Now: now}
	s.Node(0, math.MaxInt64, func(it *store.Item) bool {
		c.Node = append(c.Node, &it.Record)
		return true
	})
	return c
}
