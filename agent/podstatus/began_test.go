package podstatus

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// A pod that an earlier agent started, and whose start time nobody tells, has been active since its first sandbox was created.
func TestBegan(t *testing.T) {
	sandboxes := func(created ...time.Time) *podstate.Pod {
		p := &podstate.Pod{UID: "u"}
		for _, c := range created {
			p.Sandboxes = append(p.Sandboxes, podstate.Sandbox{ID: "s", Ready: true, CreatedAt: c})
		}
		return p
	}
	stopped := sandboxes(at(4))
	stopped.Sandboxes[0].Ready = false
	known := stampAt(1)
	for name, tc := range map[string]struct {
		seen     *podstate.Pod
		previous *metav1.Time
		want     metav1.Time
	}{
		"a new pod":              {nil, nil, stampAt(9)},
		"no sandbox yet":         {sandboxes(), nil, stampAt(9)},
		"a sandbox":              {sandboxes(at(4)), nil, stampAt(4)},
		"the first of two":       {sandboxes(at(7), at(3)), nil, stampAt(3)},
		"one that was stopped":   {stopped, nil, stampAt(9)},
		"an unknown time":        {sandboxes(time.Time{}), nil, stampAt(9)},
		"the clock was set back": {sandboxes(at(20)), nil, stampAt(9)},
		"a known start":          {sandboxes(at(4)), &known, stampAt(1)},
	} {
		t.Run(name, func(t *testing.T) {
			st := Generate(aPod(v1.RestartPolicyAlways, "a"), tc.seen, Inputs{Now: at(9), Previous: &v1.PodStatus{StartTime: tc.previous}})
			if !st.StartTime.Equal(&tc.want) {
				t.Errorf("started at %s, want %s", st.StartTime, tc.want)
			}
		})
	}
}
