package status

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// If a finished pod is ready in one of its two conditions, both have the phase's reason; otherwise they keep theirs.
func TestReadinessOfAFinishedPod(t *testing.T) {
	for _, c := range []struct {
		name              string
		phase             v1.PodPhase
		ready, containers v1.ConditionStatus
		want              string
	}{
		{"ready", v1.PodSucceeded, "True", "True", "Ready False PodCompleted , ContainersReady False PodCompleted "},
		{"its containers are", v1.PodFailed, "False", "True", "Ready False PodFailed , ContainersReady False PodFailed "},
		{"not ready", v1.PodFailed, "False", "False", "Ready False why m, ContainersReady False why m"},
		{"not finished", v1.PodRunning, "False", "True", "Ready False why m, ContainersReady True why m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := &v1.PodStatus{Phase: c.phase, Conditions: []v1.PodCondition{
				{Type: v1.PodReady, Status: c.ready, Reason: "why", Message: "m"}, {Type: v1.ContainersReady, Status: c.containers, Reason: "why", Message: "m"},
			}}
			merged, _ := merge(&v1.Pod{}, &v1.PodStatus{Phase: v1.PodRunning}, want, false, time.Now())
			var got []string
			for _, x := range merged.Conditions {
				got = append(got, strings.Join([]string{string(x.Type), string(x.Status), x.Reason, x.Message}, " "))
			}
			if all := strings.Join(got, ", "); all != c.want {
				t.Errorf("%s, want %s", all, c.want)
			}
		})
	}
}
