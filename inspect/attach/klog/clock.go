package klog

import "time"

// Clock adds to the times of headers what klog leaves out: the year and the zone. It follows one log from its beginning. The zero Clock
// takes the present year and the machine's zone.
type Clock struct {
	// Zone is that of the process that wrote the log; nil is the machine's.
	Zone *time.Location
	// Latest is when the log ends at the latest, as its file's time: the first entry is at most a day after it.
	Latest time.Time

	last time.Time
	near time.Time // what is known of the next entry's
}

// Knows tells a time with year near which the next entry is, as a journal writes it before the header.
func (c *Clock) Knows(t time.Time) { c.last, c.near = t, t }

// disorder is by how much an entry may be older than the one before, as goroutines write side by side and clocks are corrected.
const disorder = time.Minute

// at is when a header's time was: after a year's end, of the next year. Of the hour that there is twice when summer time ends, it is the one
// that is nearer to what is known; else the first one that is not before the entry before.
func (c *Clock) at(s stamp) time.Time {
	near, last := c.near, c.last
	c.near = time.Time{}
	t := c.read(s)
	if s.none {
		return t
	}
	for _, shift := range [...]time.Duration{-time.Hour, -time.Hour / 2, time.Hour / 2, time.Hour} {
		u := t.Add(shift)
		switch {
		case offset(u)+shift != offset(t): // another time of day
		case !near.IsZero():
			if u.Sub(near).Abs() < t.Sub(near).Abs() {
				t = u
			}
		case back(u, last) < back(t, last) || back(u, last) == back(t, last) && u.Before(t):
			t = u
		}
	}
	c.last = t
	return t
}

// back is by how much t is before last; 0 if it is not, or by disorder at most.
func back(t, last time.Time) time.Duration {
	if d := last.Sub(t); d > disorder {
		return d
	}
	return 0
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

func (c *Clock) read(s stamp) time.Time {
	zone := c.Zone
	if zone == nil {
		zone = time.Local
	}
	if s.none {
		return c.ofNone()
	}
	if s.month == 0 {
		return c.ofDay(s, zone)
	}
	in := func(year int) time.Time {
		return time.Date(year, time.Month(s.month), s.day, s.hour, s.minute, s.second, s.nano, zone)
	}
	if c.last.IsZero() {
		latest := c.Latest
		if latest.IsZero() {
			latest = time.Now()
		}
		if c.last = in(latest.In(zone).Year()); c.last.After(latest.Add(24 * time.Hour)) {
			c.last = in(latest.In(zone).Year() - 1)
		}
		return c.last
	}
	const half = 183 * 24 * time.Hour
	t := in(c.last.In(zone).Year())
	switch d := t.Sub(c.last); {
	case d < -half:
		t = in(t.Year() + 1)
	case d > half:
		t = in(t.Year() - 1)
	}
	c.last = t
	return t
}

// ofNone is when an entry without a time was: with the one before; at first at the log's end.
func (c *Clock) ofNone() time.Time {
	if c.last.IsZero() {
		if c.last = c.Latest; c.last.IsZero() {
			c.last = time.Now()
		}
	}
	return c.last
}

// ofDay is when a time of day was: on the day of the entry before, or the next where midnight lies between; at first on the log's last day.
func (c *Clock) ofDay(s stamp, zone *time.Location) time.Time {
	day := c.last
	if day.IsZero() {
		if day = c.Latest; day.IsZero() {
			day = time.Now()
		}
	}
	y, m, d := day.In(zone).Date()
	t := time.Date(y, m, d, s.hour, s.minute, s.second, s.nano, zone)
	if !c.last.IsZero() && t.Before(c.last.Add(-12*time.Hour)) {
		t = t.AddDate(0, 0, 1)
	}
	c.last = t
	return t
}
