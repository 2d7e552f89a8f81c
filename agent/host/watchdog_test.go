package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestWatchdog has an agent that is stuck for a while and a socket that fails once: systemd hears of the healthy agent twice within its
// limit, of the stuck one not at all, and each problem is published once.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(64)
		cur := bus.Subscribe(trace.FromOldest)
		defer cur.Close()
		began := time.Now()
		within := func(from, to time.Duration, err error) error {
			if age := time.Since(began); from < age && age < to {
				return err
			}
			return nil
		}
		var told []string
		w, err := NewWatchdog(WatchdogConfig{
			Limit: 30 * time.Second, Bus: bus,
			Healthy: func() error { return within(20*time.Second, 59*time.Second, errors.New("sync loop: stuck")) },
			Notify: func(state string) error {
				told = append(told, time.Since(began).String()+" "+state)
				return within(59*time.Second, 60500*time.Millisecond, errors.New("no buffer"))
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{"0s WATCHDOG=1", "15s WATCHDOG=1", "1m0s WATCHDOG=1", "1m1s WATCHDOG=1"}
		if !slices.Equal(told, want) {
			t.Errorf("systemd was told %q, want %q", told, want)
		}
		recs, _ := cur.Poll(make([]trace.Record, 0, 64))
		var logs []string
		for _, r := range recs {
			logs = append(logs, string(r.Event.(*trace.Log).Level)+" "+r.Event.(*trace.Log).Message)
		}
		want = []string{
			"warn systemd is not notified, and restarts the agent after 30s: the agent is not healthy",
			"warn cannot notify systemd's watchdog", "info systemd's watchdog is notified again",
		}
		if !slices.Equal(logs, want) {
			t.Errorf("logs %q, want %q", logs, want)
		}
	})
}

// TestWatchdogAtStart has an agent that is not healthy yet when it starts, for a moment or for long.
func TestWatchdogAtStart(t *testing.T) {
	for starts, want := range map[time.Duration][]string{2500 * time.Millisecond: {"3s"}, time.Minute: nil} {
		synctest.Test(t, func(t *testing.T) {
			bus := trace.NewBus(64)
			cur := bus.Subscribe(trace.FromOldest)
			defer cur.Close()
			began := time.Now()
			var told []string
			w, err := NewWatchdog(WatchdogConfig{
				Limit: 30 * time.Second, Bus: bus,
				Healthy: func() error {
					if time.Since(began) < starts {
						return errors.New("not yet")
					}
					return nil
				},
				Notify: func(string) error { told = append(told, time.Since(began).String()); return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 16*time.Second)
			defer cancel()
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
			if !slices.Equal(told, want) {
				t.Errorf("healthy after %s: systemd was told after %q, want %q", starts, told, want)
			}
			recs, _ := cur.Poll(make([]trace.Record, 0, 64))
			if published := len(recs) > 0; published != (want == nil) {
				t.Errorf("healthy after %s: %d logs", starts, len(recs))
			}
		})
	}
}

func TestWatchdogLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "30000000": 30 * time.Second} {
		t.Setenv("WATCHDOG_USEC", text)
		if got, err := WatchdogLimit(); err != nil || got != want {
			t.Errorf("WATCHDOG_USEC=%s: %s, %v, want %s", text, got, err, want)
		}
	}
	t.Setenv("WATCHDOG_USEC", "soon")
	if _, err := WatchdogLimit(); err == nil || !strings.Contains(err.Error(), "WATCHDOG_USEC") {
		t.Errorf("WATCHDOG_USEC=soon: %v", err)
	}
	for limit, fine := range map[time.Duration]bool{time.Second: false, 2 * time.Second: true} {
		if _, err := NewWatchdog(WatchdogConfig{Limit: limit, Healthy: func() error { return nil }}); (err == nil) != fine {
			t.Errorf("a limit of %s: %v", limit, err)
		}
	}
}
