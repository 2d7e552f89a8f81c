package podspec

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestShouldRestart(t *testing.T) {
	rules := []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestart,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}
	cases := []struct {
		name string
		pod  v1.RestartPolicy
		own  *v1.ContainerRestartPolicy
		exit int32
		want bool
	}{
		{"Always", v1.RestartPolicyAlways, nil, 0, true},
		{"OnFailure, done", v1.RestartPolicyOnFailure, nil, 0, false},
		{"OnFailure, failed", v1.RestartPolicyOnFailure, nil, 1, true},
		{"Never", v1.RestartPolicyNever, nil, 1, false},
		{"unset", "", nil, 0, true},
		{"sidecar of a Never pod", v1.RestartPolicyNever, new(v1.ContainerRestartPolicyAlways), 0, true},
		{"own Never in an Always pod", v1.RestartPolicyAlways, new(v1.ContainerRestartPolicyNever), 1, false},
		{"own Never, rule matches", v1.RestartPolicyAlways, new(v1.ContainerRestartPolicyNever), 42, true},
		{"rules need an own policy", v1.RestartPolicyNever, nil, 42, false},
	}
	for _, c := range cases {
		spec := &v1.PodSpec{RestartPolicy: c.pod}
		if got := ShouldRestart(spec, &v1.Container{RestartPolicy: c.own, RestartPolicyRules: rules}, c.exit); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
