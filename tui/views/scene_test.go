package views

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

func TestTimes(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 26, 53, 0, time.Local)
	for _, c := range []struct {
		times    Times
		at, zero time.Time
		want     string
	}{
		{OfDay, now, now, "09:26:53.000"},
		{OfDay, time.Time{}, now, "-"},
		{Ago, now.Add(-2300 * time.Millisecond), now, "2.3s ago"},
		{Ago, now.Add(time.Second), now, "0.0s ago"},
		{Ago, now.Add(-100 * time.Hour), now, "4d04h ago"},
		{Elapsed, now, now.Add(-75123 * time.Millisecond), "+1:15.123"},
		{Elapsed, now, now.Add(-(9*time.Hour + 5*time.Minute + 7*time.Second)), "+9:05:07.000"},
		{Elapsed, now, now.Add(-(123*time.Hour + 5*time.Minute + 7*time.Second)), "+123:05:07"},
		{Elapsed, now, now.Add(1500 * time.Millisecond), "-0:01.500"},
		{Elapsed, now, time.Time{}, "09:26:53.000"},
	} {
		s := Scene{Now: now, Zero: c.zero, Times: c.times}
		got := s.Time(c.at)
		if got != c.want || fit.Width(got) > 12 {
			t.Errorf("%v: %q, want %q", c.times, got, c.want)
		}
	}
	if OfDay.Next() != Ago || Elapsed.Next() != OfDay {
		t.Error("the ways do not go round")
	}
}
