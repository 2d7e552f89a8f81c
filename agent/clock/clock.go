// Package clock is about two clocks that part: the wall clock, which people and other machines set, and the monotonic clock, by which
// the agent waits and measures. The wall clock steps when somebody sets it, and when the machine was suspended, in which the monotonic
// clock stands still.
//
// It owns the watch for such steps, which re-anchors the bus (and so publishes clock.stepped), and the rules for times that another
// clock has told. It decides nothing by them. [Watch] runs one goroutine, which sleeps until the kernel says that the clock was set.
package clock

import "time"

// Look is the longest that may be slept until a time of the wall clock: whoever sleeps for that long looks at it again, so that a
// suspended machine, or a clock that was set, delays no renewal for longer.
const Look = 5 * time.Minute

// Until is how long to sleep until a time of the wall clock, or until it is worth looking again.
func Until(at time.Time) time.Duration {
	return min(Look, at.Round(0).Sub(time.Now().Round(0)))
}

// Past is a time that another program's wall clock told, in the time of this process: never in the future, and from now on
// without regard of how the wall clock is set. now is of [time.Now].
func Past(now, told time.Time) time.Time {
	return now.Add(-max(0, now.Sub(told)))
}
