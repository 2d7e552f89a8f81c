package usage

import (
	"bytes"
	"strconv"
	"time"
)

// Throttling is how much a CPU limit has throttled a cgroup since its creation.
type Throttling struct {
	// Periods is the number of the limit's periods with runnable threads, Throttled the number of those in which the
	// limit was reached.
	Periods, Throttled int64
	// Stopped is how long the limit stopped threads, added up over the CPUs.
	Stopped time.Duration
}

// Since returns the difference to earlier figures; zero if they went back.
func (t Throttling) Since(from Throttling) Throttling {
	d := Throttling{Periods: t.Periods - from.Periods, Throttled: t.Throttled - from.Throttled, Stopped: t.Stopped - from.Stopped}
	if d.Periods < 0 || d.Throttled < 0 || d.Stopped < 0 {
		return Throttling{}
	}
	return d
}

// ParseThrottling parses a cgroup's cpu.stat, of cgroup v1 and v2. Without a limit the kernel counts no periods, and
// the figures are zero.
func ParseThrottling(stat []byte) (t Throttling) {
	for line := range bytes.Lines(stat) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch string(key) {
		case "nr_periods":
			t.Periods = n
		case "nr_throttled":
			t.Throttled = n
		case "throttled_time": // v1
			t.Stopped = time.Duration(n)
		case "throttled_usec": // v2
			t.Stopped = time.Duration(min(n, 1<<53)) * time.Microsecond
		}
	}
	return t
}
