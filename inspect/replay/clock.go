package replay

import (
	"math"
	"time"
)

// clock tells the replay's time. It stands still or runs speed times as fast as the wall's.
// Times are in Unix nanoseconds.
type clock struct {
	at      int64     // its time at since
	since   time.Time // wall time
	speed   float64
	running bool
}

func (c *clock) now() int64 {
	if !c.running || c.speed >= Max {
		return c.at
	}
	d := float64(time.Since(c.since)) * c.speed
	if d > math.MaxInt64/2 {
		d = math.MaxInt64 / 2
	}
	return c.at + int64(d)
}

// set makes it a time.
func (c *clock) set(at int64) { c.at, c.since = at, time.Now() }

// run lets it continue or stops it.
func (c *clock) run(on bool) {
	c.set(c.now())
	c.running = on
}

// pace changes its speed from now on.
func (c *clock) pace(speed float64) {
	c.set(c.now())
	c.speed = speed
}

// until is the wall's time until the clock says at; it must be running.
func (c *clock) until(at int64) time.Duration {
	if c.speed >= Max {
		return 0
	}
	d := math.Ceil(float64(at-c.now()) / c.speed)
	return time.Duration(min(d, float64(time.Hour))) // looked at again then
}
