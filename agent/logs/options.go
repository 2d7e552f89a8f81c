package logs

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Options select a part of a log.
type Options struct {
	// Tail is the number of entries from the end; nil means all.
	Tail *int64
	// Limit is the maximum number of bytes written; nil means no limit.
	Limit *int64
	// Since omits what was logged before.
	Since time.Time
	// Follow continues until the container has exited.
	Follow bool
	// Timestamps puts the time before each line.
	Timestamps bool
}

// OptionsOf translates the options of a client's request; now is the current time.
func OptionsOf(o *v1.PodLogOptions, now time.Time) Options {
	out := Options{Tail: o.TailLines, Limit: o.LimitBytes, Follow: o.Follow, Timestamps: o.Timestamps}
	switch {
	case o.SinceSeconds != nil:
		most := int64(math.MaxInt64 / time.Second) // more would be in the future
		out.Since = now.Add(-time.Duration(min(*o.SinceSeconds, most)) * time.Second)
	case o.SinceTime != nil:
		out.Since = o.SinceTime.Time
	}
	return out
}
