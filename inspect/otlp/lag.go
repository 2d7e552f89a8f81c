package otlp

import (
	"sync"
	"time"
)

const (
	// lagFor is how long the delay of a span counts.
	lagFor = time.Minute
	// maxLag is the longest delay that counts: OpenTelemetry's default is 5 s until a sender sends. What comes later was kept for another
	// reason, for example because nobody received it.
	maxLag = 6 * time.Second
)

// lag knows how long after their ends spans arrived lately.
type lag struct {
	mu            sync.Mutex
	since         time.Time // of current
	current, last time.Duration
}

// saw takes in the delay of a span that arrived now.
func (l *lag) saw(now time.Time, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	if late <= maxLag {
		l.current = max(l.current, late)
	}
}

// most returns the longest delay of the last one to two minutes.
func (l *lag) most(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	return max(l.current, l.last)
}

func (l *lag) turn(now time.Time) {
	switch d := now.Sub(l.since); {
	case d < lagFor:
	case d < 2*lagFor:
		l.since, l.last, l.current = now, l.current, 0
	default:
		l.since, l.last, l.current = now, 0, 0
	}
}
