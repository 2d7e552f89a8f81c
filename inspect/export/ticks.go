package export

import (
	"strconv"
	"time"
)

// ticks returns round times from 0 to span, at most n and one more.
func ticks(span time.Duration, n float64) []time.Duration {
	step := tickStep(time.Duration(float64(span) / max(n, 1)))
	var out []time.Duration
	for at := time.Duration(0); at <= span; at += step {
		out = append(out, at)
	}
	return out
}

// tickStep returns the first round duration that is not below least.
func tickStep(least time.Duration) time.Duration {
	for unit := time.Microsecond; unit <= 10*time.Second; unit *= 10 {
		for _, f := range []time.Duration{1, 2, 5} {
			if unit*f >= least && unit*f <= 10*time.Second {
				return unit * f
			}
		}
	}
	for _, s := range []time.Duration{
		20 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if s >= least {
			return s
		}
	}
	return least.Truncate(24*time.Hour) + 24*time.Hour
}

// tickText writes a round time without its zeros: 0s, 500ms, 1.5s, 2m20s.
func tickText(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	out := ""
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.of; n > 0 {
			out, d = out+strconv.FormatInt(int64(n), 10)+u.name, d%u.of
		}
	}
	return out
}
