package semaphore

import (
	"slices"
	"time"
)

// Pace is how patient the slots are with a piece of work that others wait behind. The zero Pace has the
// figures that suit calls of the container runtime.
type Pace struct {
	// Floor is the least; 0 means one second. A hiccup of the disk takes that long too.
	Floor time.Duration
	// Unknown is used for a kind of which too little is known; 0 means five seconds.
	Unknown time.Duration
	// Ceiling is the most; 0 means ten seconds.
	Ceiling time.Duration
}

const (
	// window is how many durations of a kind are kept, few the least that say anything.
	window = 32
	few    = 4
	// clearly is how often the usual time is waited for.
	clearly = 4
	// maxKinds bounds the kinds that are learned. Work of more kinds has the patience of the unknown.
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

// patience is how long work may take whose like took so long lately.
func (p Pace) patience(taken []time.Duration) time.Duration {
	if len(taken) < few {
		return min(max(p.Unknown, p.Floor), p.Ceiling)
	}
	return min(max(clearly*usual(taken), p.Floor), p.Ceiling)
}

// usual is the upper quartile: three in four took no longer. One in five that hung does not move it.
func usual(taken []time.Duration) time.Duration {
	if len(taken) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(taken))
	return sorted[(len(sorted)-1)*3/4]
}

// lately are the latest durations of each kind of work that went well.
type lately struct {
	of map[string]*durations
}

type durations struct {
	taken []time.Duration
	at    int // of the next one, once the window is full
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
