package step

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestAhead(t *testing.T) {
	var a Ahead
	keep := func(line string, runs, want bool) {
		t.Helper()
		if got, err := a.Keep(line, runs); got != want || err != nil {
			t.Errorf("Keep(%q, %v) = %v, %v, want %v", line, runs, got, err, want)
		}
	}
	keep("n", false, false)
	keep("p", true, false) // nothing waits before it
	keep("", true, true)
	keep("p", true, true)
	keep("b create", false, true)
	keep("q", true, false)
	if got, want := a.String(), "n, p, b create"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if line, ok := a.Next(); line != "" || !ok {
		t.Errorf("next is %q, %v", line, ok)
	}
	for range MostAhead - 2 {
		keep("s", true, true)
	}
	if _, err := a.Keep("s", true); err == nil || err.Error() != "32 commands wait for the action to end: no more are kept" {
		t.Errorf("the 33rd: %v", err)
	}
	if a.Drop() == "" || a.Waits() || a.Drop() != "" {
		t.Error("dropped twice, or not at all")
	}
	if line, ok := a.Next(); ok {
		t.Errorf("%q is left", line)
	}
}

func TestStopRuns(t *testing.T) {
	left := []Action{{ID: "start main", State: Done}, {ID: "hook main", State: Todo}}
	for name, c := range map[string]struct {
		stop Stop
		want bool
	}{
		"nothing yet":   {Stop{}, false},
		"paused":        {Stop{Next: "hook main", Actions: left}, false},
		"a hook runs":   {Stop{Actions: left, Passed: []Milestone{{Name: trace.MilestoneStarted}}}, true},
		"all is done":   {Stop{Actions: left[:1], Passed: []Milestone{{Name: trace.MilestoneStarted}}}, false},
		"sync failed":   {Stop{Actions: left, Err: "no route"}, false},
		"an older plan": {Stop{Actions: left, Passed: []Milestone{{Name: trace.MilestoneGone}}}, false},
	} {
		if got := c.stop.Runs(); got != c.want {
			t.Errorf("%s: runs %v", name, got)
		}
	}
}
