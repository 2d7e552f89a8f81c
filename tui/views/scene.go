package views

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/tui/style"
)

// Scene is what all pages share beyond how they look.
type Scene struct {
	Now   time.Time
	Zero  time.Time // from when on elapsed time counts; zero unknown
	Times Times
	// Note says why there may be nothing to show; "" when there is no reason.
	Note string
	// Panels says that the screen is large enough for panels with borders.
	Panels bool
	// Logs reads the logs of containers; nil: the records' source has none.
	Logs LogReader
	// Learn says that what is selected is explained below the page, for learners.
	Learn bool
}

// Times is how instants are written in lists.
type Times int

// The ways to write an instant.
const (
	OfDay   Times = iota // 09:26:53.000
	Ago                  // 2.3s ago
	Elapsed              // +1:15.123 since the first event
	allTimes
)

// Next is the way after this one.
func (t Times) Next() Times { return (t + 1) % allTimes }

func (t Times) String() string {
	return [...]string{"time of day", "how long ago", "time since the start"}[t]
}

// Time writes an instant in at most 12 columns.
func (s *Scene) Time(t time.Time) string {
	switch {
	case t.IsZero():
		return style.Unknown
	case s.Times == Ago:
		return style.Age(max(s.Now.Sub(t), 0)) + " ago"
	case s.Times == Elapsed && !s.Zero.IsZero():
		return since(t.Sub(s.Zero))
	}
	return style.Clock(t)
}

// since writes a duration as a stop-watch does.
func since(d time.Duration) string {
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	h, m, sec := int(d.Hours()), int(d.Minutes())%60, d%time.Minute
	switch {
	case h >= 10:
		return fmt.Sprintf("%s%d:%02d:%02d", sign, h, m, int(sec.Seconds()))
	case h > 0:
		return fmt.Sprintf("%s%d:%02d:%02d.%03d", sign, h, m, int(sec.Seconds()), sec.Milliseconds()%1000)
	}
	return fmt.Sprintf("%s%d:%02d.%03d", sign, m, int(sec.Seconds()), sec.Milliseconds()%1000)
}
