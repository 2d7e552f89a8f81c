package watch

import (
	"fmt"
	"testing"
	"time"
)

// TestPast: of a log's lines, those at the beginning that are too old are of the past, and none after a clock that was set back.
func TestPast(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	p, got := past{since: now}, []bool(nil)
	for _, after := range []time.Duration{-2 * time.Hour, -1, 0, time.Minute, -2 * time.Hour} {
		got = append(got, p.has(now.Add(after)))
	}
	if want := "[true true false false false]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestBefore: a line of a value, which a container may have written, has no time of the log's.
func TestBefore(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	line := func(at time.Time) string { return at.UTC().Format("I0102 15:04:05.000000 1 a.go:1] ") + "m\n" }
	for name, c := range map[string]struct {
		piece string
		want  bool
	}{
		"older":          {"x\n" + line(now.Add(-time.Minute)), true},
		"later":          {line(now.Add(time.Minute)) + line(now.Add(-time.Minute)), false},
		"older, a value": {"\t" + line(now.Add(-time.Minute)) + " >\n" + line(now.Add(time.Minute)), false},
		"nothing":        {"\tx\n", false},
	} {
		if got := before(kubeletLog, []byte(c.piece), now, time.UTC); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
