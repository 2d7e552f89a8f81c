// Package clock handles steps of the wall clock. The agent waits and measures with the monotonic clock. The wall clock steps when
// it is set, and when the machine was suspended, because the monotonic clock stops then.
//
// It owns the watch for such steps, which re-anchors the bus (and so publishes clock.stepped), and the rules for times of other
// clocks. It makes no decisions. [Watch] runs one goroutine, which sleeps until the kernel says that the clock was set.
package clock

import "time"

// Look is the longest time to sleep until a time of the wall clock. After this time, the sleeper must check the clock again, so
// that a suspended machine, or a clock that was set, delays no renewal for longer.
const Look = 5 * time.Minute

// Until returns how long to sleep until a time of the wall clock, or until the next check.
func Until(at time.Time) time.Duration {
	return min(Look, at.Round(0).Sub(time.Now().Round(0)))
}

// Past converts a time from another program's wall clock to the time of this process: it is never in the future, and later steps of
// the wall clock do not affect it. now is from [time.Now].
func Past(now, told time.Time) time.Time {
	return now.Add(-max(0, now.Sub(told)))
}
