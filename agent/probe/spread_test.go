package probe

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// When an agent finds many containers of an earlier one, the first attempts of each kind of probe are spread over its period. A container
// that this agent has started is probed as always.
func TestFirstAttemptsAfterARestart(t *testing.T) {
	const many = 40
	period := func(p *v1.Probe) { p.PeriodSeconds = 20 }
	for _, tc := range []struct {
		name   string
		probes [kinds]*v1.Probe
		ready  bool
		age    time.Duration // of the container when the agent starts
		from   time.Duration // the earliest attempt
		at     time.Duration // of all; -1 if they are spread
	}{
		{"startup", [kinds]*v1.Probe{Startup: probeOf(period)}, false, time.Hour, 0, -1},
		{"not ready", [kinds]*v1.Probe{Readiness: probeOf(period)}, false, time.Hour, 0, -1},
		{"not ready, young", [kinds]*v1.Probe{Readiness: probeOf(period)}, false, time.Second, 0, -1},
		{"ready", [kinds]*v1.Probe{Readiness: probeOf(period)}, true, time.Hour, 0, -1},
		{"liveness", [kinds]*v1.Probe{Liveness: probeOf(period)}, false, time.Hour, 0, -1},
		{"liveness, with a delay that has not passed", [kinds]*v1.Probe{Liveness: probeOf(period, delayed)}, false, time.Second, 3 * time.Second, -1},
		{"new: startup", [kinds]*v1.Probe{Startup: probeOf(period)}, false, 0, 0, 0},
		{"new: readiness", [kinds]*v1.Probe{Readiness: probeOf(period)}, false, 0, 0, 0},
		{"new: liveness", [kinds]*v1.Probe{Liveness: probeOf(period)}, false, 0, 0, 20 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.seen = &podstate.Pod{UID: "u", At: w.at, Containers: []podstate.Container{
					{ID: "1", Name: "web", State: podstate.Running, StartedAt: w.at.Add(-tc.age)},
				}}
				for k := range kinds {
					w.answer(Kind(k), success(""))
				}
				for i := range many {
					pod := podWith(tc.probes[Startup], tc.probes[Readiness], tc.probes[Liveness])
					pod.UID = types.UID(fmt.Sprint("u", i))
					pod.Status.ContainerStatuses = []v1.ContainerStatus{{
						Name: "web", ContainerID: "containerd://1", Ready: tc.ready, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
					}}
					w.p.Add(pod, nil)
				}
				made := w.times(20 * time.Second)
				if len(made) < many {
					t.Fatalf("%d attempts in the first period, want %d", len(made), many)
				}
				different := map[time.Duration]bool{}
				for _, at := range made[:many] {
					different[at] = true
					if at < tc.from {
						t.Errorf("an attempt at %s, want none before %s", at, tc.from)
					}
					if tc.at >= 0 && at != tc.at {
						t.Errorf("an attempt at %s, want all at %s", at, tc.at)
					}
				}
				if tc.at < 0 && len(different) < many/4 {
					t.Errorf("%d attempts at only %d different times", many, len(different))
				}
			})
		})
	}
}

// times returns when the attempts of the given time from now were made, since the test's begin.
func (w *world) times(d time.Duration) (out []time.Duration) {
	w.t.Helper()
	time.Sleep(d)
	for made := range strings.SplitSeq(w.take(), ", ") {
		at, _, _ := strings.Cut(made, " ")
		when, err := time.ParseDuration(at)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, when)
	}
	return out
}
