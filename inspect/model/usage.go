package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Usage is what the agent took of the machine last.
type Usage struct {
	At time.Time // zero unknown
	trace.Usage
}

// Share is the part of one processor that the agent used; ok is false when it is
// not known.
func (u *Usage) Share() (part float64, ok bool) {
	if u.At.IsZero() || u.Interval <= 0 {
		return 0, false
	}
	return float64(u.CPU) / float64(u.Interval), true
}
