package podstatus

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A pod's condition DisruptionTarget is that of others, as the API has it, until the agent sets its own, which stays.
func TestDisruptionTarget(t *testing.T) {
	target := func(status v1.ConditionStatus, reason string) []v1.PodCondition {
		return []v1.PodCondition{{Type: "example.com/other", Status: v1.ConditionTrue}, {Type: v1.DisruptionTarget, Status: status, Reason: reason, Message: "m"}}
	}
	const api, ours = "EvictionByEvictionAPI", v1.PodReasonTerminationByKubelet
	for _, c := range []struct {
		name          string
		api, previous []v1.PodCondition
		evicts        bool
		want          string
	}{
		{name: "none", want: ""},
		{name: "of others", api: target(v1.ConditionTrue, api), want: "True EvictionByEvictionAPI m"},
		{name: "changed by others", api: target(v1.ConditionFalse, api), previous: target(v1.ConditionTrue, api), want: "False EvictionByEvictionAPI m"},
		{name: "removed by others", previous: target(v1.ConditionTrue, api), want: ""},
		{name: "evicts, too", api: target(v1.ConditionTrue, api), previous: target(v1.ConditionTrue, api), evicts: true, want: "True TerminationByKubelet low"},
		{name: "evicts", evicts: true, want: "True TerminationByKubelet low"},
		{name: "has evicted", api: target(v1.ConditionTrue, api), previous: target(v1.ConditionTrue, ours), evicts: true, want: "True TerminationByKubelet m"},
		{name: "an earlier agent has evicted", api: target(v1.ConditionTrue, ours), want: "True TerminationByKubelet m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := aPod(v1.RestartPolicyAlways, "a")
			p.Status.Conditions = c.api
			in := Inputs{Now: at(1), Previous: &v1.PodStatus{Conditions: c.previous}}
			if c.evicts {
				in.Failed, in.Disruption = &Reason{"Evicted", "low"}, "low"
			}
			n, got := 0, ""
			for _, x := range Generate(p, seen(running("a")), in).Conditions {
				if x.Type == v1.DisruptionTarget {
					n, got = n+1, string(x.Status)+" "+x.Reason+" "+x.Message
				}
			}
			if got != c.want || n > 1 {
				t.Errorf("%d: %q, want %q", n, got, c.want)
			}
			if len(c.api) > 0 && p.Status.Conditions[1].Reason != c.api[1].Reason {
				t.Error("the pod was changed")
			}
		})
	}
}
