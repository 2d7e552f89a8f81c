package pressure

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		s := NewShortage(map[string]string{"memory.available": "100", "nodefs.available": "10%"}, 5*time.Minute, func() { changes++ }, nil)
		see := func(signal string, free int64, short bool, total int) {
			t.Helper()
			s.Observe(signal, Usage{Used: 1000 - free, Capacity: 1000}, time.Now())
			if s.Short(signal) != short || changes != total {
				t.Errorf("%s with %d free: short %t after %d changes, want %t after %d", signal, free, s.Short(signal), changes, short, total)
			}
		}
		see("memory", 100, false, 0)
		see("memory", 99, true, 1)
		see("nodefs", 101, false, 1)
		see("nodefs", 99, true, 2)
		time.Sleep(4 * time.Minute)
		see("memory", 500, true, 2) // it holds
		time.Sleep(2 * time.Minute)
		see("memory", 500, false, 3)
		see("imagefs", 0, false, 3) // without a threshold
		if m, i := s.Rule("memory"), s.Rule("imagefs"); m != "pressure below 100 free" || i != "" {
			t.Errorf("rules %q and %q", m, i)
		}
	})
}
