package style

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Unknown is what stands where a figure is not known.
const Unknown = "-"

// DurWidth is the width of the widest text that Dur returns.
const DurWidth = 6

// Dur formats a duration with three digits, such as 812ms and 1.24s.
func Dur(d time.Duration) string { return human.Duration(d) }

// Known writes a duration, or Unknown for zero.
func Known(d time.Duration) string {
	if d == 0 {
		return Unknown
	}
	return Dur(d)
}

// Age formats a duration that changes, with at most one decimal.
func Age(d time.Duration) string {
	if d >= 0 && d < 59950*time.Millisecond {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Dur(d)
}

// Bytes formats a size, such as 68 MiB.
func Bytes(n int64) string { return human.Bytes(n) }

// Count writes a whole number in groups: 1234567 is 1,234,567.
func Count[N ~int | ~int64 | ~uint64](n N) string { return human.Count(n) }

// Clock writes the time of day to the millisecond, in local time.
func Clock(t time.Time) string {
	if t.IsZero() {
		return Unknown
	}
	return t.Format("15:04:05.000")
}
