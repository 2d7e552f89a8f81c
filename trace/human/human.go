// Package human formats durations, sizes, rates and names of images for people, in stable widths. It escapes foreign text, so that
// the text cannot begin a new line or control a terminal.
//
// It owns these notations, keeps no state, runs no goroutine and publishes nothing.
package human

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration formats a duration with three digits: 412µs, 812ms, 1.24s, 12.4s, 4m09s, 3h12m, 4d03h. Negative durations
// are unknown: -.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d == 0:
		return "0ms"
	case d < 999500*time.Nanosecond:
		return strconv.FormatInt(max(1, int64(d.Round(time.Microsecond)/time.Microsecond)), 10) + "µs"
	case d < 999500*time.Microsecond:
		return strconv.FormatInt(int64(d.Round(time.Millisecond)/time.Millisecond), 10) + "ms"
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour-500*time.Millisecond:
		s := int(d.Round(time.Second) / time.Second)
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case d < 24*time.Hour-30*time.Second:
		m := int(d.Round(time.Minute) / time.Minute)
		return fmt.Sprintf("%dh%02dm", m/60, m%60)
	default:
		h := int(d.Round(time.Hour) / time.Hour)
		return fmt.Sprintf("%dd%02dh", h/24, h%24)
	}
}

// Count writes a whole number in groups: 1234567 is 1,234,567.
func Count[N ~int | ~int64 | ~uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes formats a size: 512 B, 4.0 KiB, 68 MiB. Negative sizes are unknown: -.
func Bytes(n int64) string {
	if n < 0 {
		return "-"
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, units := float64(n)/1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for v >= 1023.5 && len(units) > 1 {
		v, units = v/1024, units[1:]
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.0f %s", v, units[0])
}

// Rate formats bytes per second: 16 MiB/s; "-" if d is not positive.
func Rate(n int64, d time.Duration) string {
	if d <= 0 || n < 0 {
		return "-"
	}
	return Bytes(int64(float64(n)/d.Seconds())) + "/s"
}

// Image removes an image's registry and digest: pause:3.10. An image with nothing else keeps its digest.
func Image(ref string) string {
	name, digest, _ := strings.Cut(ref, "@")
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if name == "" {
		return digest
	}
	return name
}

// Percent formats a share: 0.4%, 12%, 100%; 0% for none.
func Percent(v float64) string {
	switch {
	case v == 0:
		return "0%"
	case v < 0.05:
		return "<0.1%"
	case v < 9.95:
		return fmt.Sprintf("%.1f%%", v)
	}
	return fmt.Sprintf("%.0f%%", v)
}
