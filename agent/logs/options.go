package logs

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Options say what of a log is wanted.
type Options struct {
	// Tail is how many entries from the end are wanted; nil is all.
	Tail *int64
	// Limit is how many bytes are written at most; nil is all.
	Limit *int64
	// Since leaves out what was logged before.
	Since time.Time
	// Follow continues until the container has ended.
	Follow bool
	// Timestamps puts the time before each line.
	Timestamps bool
}

// OptionsOf translates what a client asks for at the time now.
func OptionsOf(o *v1.PodLogOptions, now time.Time) Options {
	out := Options{Tail: o.TailLines, Limit: o.LimitBytes, Follow: o.Follow, Timestamps: o.Timestamps}
	switch {
	case o.SinceSeconds != nil:
		most := int64(math.MaxInt64 / time.Second) // more would be a time to come
		out.Since = now.Add(-time.Duration(min(*o.SinceSeconds, most)) * time.Second)
	case o.SinceTime != nil:
		out.Since = o.SinceTime.Time
	}
	return out
}
