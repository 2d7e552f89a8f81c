package clock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestPast(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct{ ago, want time.Duration }{
		"earlier": {time.Minute, time.Minute}, "now": {0, 0}, "an hour ahead: a clock was set back": {-time.Hour, 0},
	} {
		told := now.Add(-c.ago).Round(0) // as another program reports it
		got := Past(now, told)
		if ago := now.Sub(got); ago != c.want {
			t.Errorf("%s: %s ago, want %s", name, ago, c.want)
		}
		if got == got.Round(0) {
			t.Errorf("%s: it follows the wall clock", name)
		}
	}
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Round(0)
		for at, want := range map[time.Duration]time.Duration{time.Second: time.Second, Look + time.Second: Look, 24 * time.Hour: Look, -time.Hour: -time.Hour} {
			if got := Until(now.Add(at)); got != want {
				t.Errorf("a time in %s: sleep %s, want %s", at, got, want)
			}
		}
	})
}

// The watch sleeps in the kernel and ends on request. A test cannot set the clock, because it affects the whole
// machine.
func TestWatchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- New(trace.NewBus(16)).Run(ctx) }()
	time.AfterFunc(20*time.Millisecond, cancel)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}
