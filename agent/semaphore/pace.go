package semaphore

import (
	"slices"
	"time"
)

// Pace is how long work may take while others wait. The zero Pace has values for calls of the container runtime.
type Pace struct {
	// Floor is the minimum; 0 means one second. Short disk stalls also take that long.
	Floor time.Duration
	// Unknown is used for a kind with too few samples; 0 means five seconds.
	Unknown time.Duration
	// Ceiling is the maximum; 0 means ten seconds.
	Ceiling time.Duration
}

const (
	// window is how many durations of a kind are kept, few the minimum number of samples.
	window = 32
	few    = 4
	// clearly is the factor between the usual duration and the limit.
	clearly = 4
	// maxKinds limits the number of kinds with samples. Work of other kinds has the limit Unknown.
	maxKinds = 64
)

func (p Pace) orDefault() Pace {
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&p.Floor, time.Second}, {&p.Unknown, 5 * time.Second}, {&p.Ceiling, 10 * time.Second}} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
	p.Ceiling = max(p.Ceiling, p.Floor)
	return p
}

// patience returns how long work may take, given the latest durations of its kind.
func (p Pace) patience(taken []time.Duration) time.Duration {
	if len(taken) < few {
		return min(max(p.Unknown, p.Floor), p.Ceiling)
	}
	return min(max(clearly*usual(taken), p.Floor), p.Ceiling)
}

// usual returns the upper quartile: three in four took no longer. If one in five hung, it does not change.
func usual(taken []time.Duration) time.Duration {
	if len(taken) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(taken))
	return sorted[(len(sorted)-1)*3/4]
}

// lately are the latest durations of successful work of each kind.
type lately struct {
	of map[string]*durations
}

type durations struct {
	taken []time.Duration
	at    int // index of the next one, when the window is full
}

func (l *lately) learn(kind string, took time.Duration) {
	d := l.of[kind]
	if d == nil {
		if len(l.of) >= maxKinds {
			return
		}
		if l.of == nil {
			l.of = map[string]*durations{}
		}
		d = &durations{}
		l.of[kind] = d
	}
	if len(d.taken) < window {
		d.taken = append(d.taken, took)
		return
	}
	d.taken[d.at] = took
	d.at = (d.at + 1) % window
}

func (l *lately) taken(kind string) []time.Duration {
	if d := l.of[kind]; d != nil {
		return d.taken
	}
	return nil
}
