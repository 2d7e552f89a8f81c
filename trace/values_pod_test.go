package trace

import "testing"

func TestTerminal(t *testing.T) {
	for phase, want := range map[PodPhase]bool{"": false, PodPending: false, PodRunning: false, "Unknown": false, PodSucceeded: true, PodFailed: true} {
		if got := phase.Terminal(); got != want {
			t.Errorf("%q: %v", phase, got)
		}
	}
}
