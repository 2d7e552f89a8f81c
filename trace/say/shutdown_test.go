package say

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestShutdown(t *testing.T) {
	at := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("ns/p%02d", i))
	}
	for _, c := range []struct {
		e      trace.Shutdown
		begins bool
		want   string
	}{
		{e: trace.Shutdown{State: trace.ShutdownHeld, Delay: 30 * time.Second, Grace: 30}, want: "shutdown: logind's lock is held: a shutdown of the machine waits up to 30.0s for pods"},
		{e: trace.Shutdown{State: trace.ShutdownHeld, Delay: 5 * time.Second, Grace: 30}, want: "shutdown: logind's lock is held: a shutdown of the machine waits up to 5.00s for pods, less than the 30.0s that the configuration gives them"},
		{e: trace.Shutdown{State: trace.ShutdownLast, Started: at}, want: "shutdown: the last graceful shutdown began at 2026-11-26T20:00:00Z and was not completed"},
		{e: trace.Shutdown{State: trace.ShutdownLast, Started: at, Ended: at.Add(12 * time.Second)}, want: "shutdown: the last graceful shutdown began at 2026-11-26T20:00:00Z and took 12.0s"},
		{e: trace.Shutdown{State: trace.ShutdownAnnounced, Pods: many, Groups: 1, Grace: 30}, want: "shutdown: the machine is about to shut down: 12 pods in 1 group, 30 s"},
		{
			e: trace.Shutdown{State: trace.ShutdownGroup, Group: 1, Groups: 2, Priority: -7, Grace: 20, Pods: many}, begins: true,
			want: "shutdown: group 1 of 2, from priority -7: 12 pods within 20 s: ns/p00, ns/p01, ns/p02, ns/p03, ns/p04, ns/p05, ns/p06, ns/p07, ns/p08, ns/p09 and 2 more",
		},
		{e: trace.Shutdown{State: trace.ShutdownGroup, Group: 2, Groups: 2, Pods: many[:1]}, want: "shutdown: group 2 of 2, from priority 0: 1 pod terminated"},
		{
			e:    trace.Shutdown{State: trace.ShutdownGroup, Group: 2, Groups: 2, Pods: many[:2], Overran: many[:1]},
			want: "shutdown: group 2 of 2, from priority 0: 1 of 2 pods did not terminate in time: ns/p00",
		},
		{
			e:    trace.Shutdown{State: trace.ShutdownReleased, Started: at, Ended: at.Add(2 * time.Minute), Overran: many[:2]},
			want: "shutdown: the lock is released after 2m00s, and the machine shuts down; not terminated: ns/p00, ns/p01",
		},
		{e: trace.Shutdown{State: trace.ShutdownCanceled}, want: "shutdown: canceled: the node runs pods again"},
		{e: trace.Shutdown{State: "later"}, want: ""},
	} {
		if got := Shutdown(&c.e, c.begins); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if !trace.ShutdownGroup.Underway() || trace.ShutdownHeld.Underway() {
		t.Error("which steps are part of a shutdown")
	}
}
