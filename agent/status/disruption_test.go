package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A condition DisruptionTarget of others is no difference, and is not written; the agent's own is, when nothing of the pod runs.
func TestDisruptionTarget(t *testing.T) {
	const api, ours = "EvictionByEvictionAPI", v1.PodReasonTerminationByKubelet
	status := func(phase v1.PodPhase, reason string) *v1.PodStatus {
		s := &v1.PodStatus{Phase: phase}
		if reason != "" {
			s.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: reason}}
		}
		return s
	}
	for _, c := range []struct {
		api, want string
		same      bool
		running   bool
		merged    string
	}{
		{"", "", true, false, ""},
		{api, "", true, false, api},
		{api, api, true, false, api},
		{"", api, true, false, ""}, // others have removed it since
		{"", ours, false, false, ours},
		{api, ours, false, false, ours},
		{ours, ours, true, false, ours},
		{api, ours, false, true, api},
	} {
		t.Run(fmt.Sprintf("%s, %s, running %t", c.api, c.want, c.running), func(t *testing.T) {
			if got := same(status(v1.PodRunning, c.api), status(v1.PodRunning, c.want)); got != c.same {
				t.Errorf("same: %t", got)
			}
			if got := same(status(v1.PodRunning, c.want), status(v1.PodRunning, c.api)); got != c.same {
				t.Errorf("same, the other way round: %t", got)
			}
			s, _ := merge(&v1.Pod{}, status(v1.PodRunning, c.api), status(v1.PodFailed, c.want), c.running, time.Now())
			var got []string
			for _, x := range s.Conditions {
				got = append(got, x.Reason)
			}
			if strings.Join(got, " ") != c.merged {
				t.Errorf("merged: %q, want %q", got, c.merged)
			}
		})
	}
}
