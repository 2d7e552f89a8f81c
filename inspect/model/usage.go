package model

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Usage is the agent's last resource usage.
type Usage struct {
	At time.Time // zero if unknown
	trace.Usage
}

// Share returns the part of one CPU that the agent used; ok is false if it is unknown.
func (u *Usage) Share() (part float64, ok bool) {
	if u.At.IsZero() || u.Interval <= 0 {
		return 0, false
	}
	return float64(u.CPU) / float64(u.Interval), true
}
