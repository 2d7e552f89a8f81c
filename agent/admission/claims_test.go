package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
)

// CPU and memory of claims count for the pod and for the others, if the gate is on.
func TestClaimsCount(t *testing.T) {
	asking := func(name, requests, claim string) *v1.Pod {
		p := podWith(name)
		p.Spec.Containers[0].Resources.Requests = qostest.List(requests)
		if claim != "" {
			p = qostest.Claim(p, claim, p.Spec.Containers[0].Name)
		}
		return p
	}
	for _, tc := range []struct {
		name       string
		pod, other *v1.Pod
		with       string // the reason with the gate; empty if the pod is admitted
		message    string
	}{
		{"fits", asking("p", "cpu=500m", "cpu=500m"), asking("o", "cpu=500m", "cpu=500m"), "", ""},
		{"the pod's", asking("p", "cpu=500m", "cpu=1"), asking("o", "cpu=1", ""), "OutOfcpu", "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000"},
		{"the other's", asking("p", "memory=600Mi", ""), asking("o", "", "memory=600Mi"), "OutOfmemory", "Node didn't have enough resource: memory, requested: 629145600, used: 629145600, capacity: 1073741824"},
		{"without requests", asking("p", "", "cpu=3"), asking("o", "", ""), "OutOfcpu", "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"},
	} {
		in := Inputs{Pod: tc.pod, Others: []*v1.Pod{tc.other}, Allocatable: qostest.List("cpu=2 memory=1Gi pods=10")}
		if v := Check(in); !v.OK {
			t.Errorf("%s: with the gate off %s: %s", tc.name, v.Reason, v.Message)
		}
		in.Claims = qos.WithClaims
		if v := Check(in); v.Reason != tc.with || v.Message != tc.message {
			t.Errorf("%s: %q %q, want %q %q", tc.name, v.Reason, v.Message, tc.with, tc.message)
		}
		if fits := Resize(Inputs{Pod: tc.pod, Others: in.Others, Allocatable: in.Allocatable, Claims: qos.WithClaims}).OK; fits != (tc.with == "") {
			t.Errorf("%s: a resize fits: %t", tc.name, fits)
		}
	}
}

// A critical pod preempts as many pods as what claims have requires.
func TestClaimsPreempt(t *testing.T) {
	critical := qostest.Claim(podWith("critical"), "cpu=1500m", "c")
	critical.Spec.Priority = new(int32(2_000_000_000))
	victim := podWith("victim")
	victim.Spec.Containers[0].Resources.Requests = qostest.List("cpu=100m")
	victim = qostest.Claim(victim, "cpu=900m", "c")
	in := Inputs{Pod: critical, Others: []*v1.Pod{victim}, Allocatable: qostest.List("cpu=2 pods=10"), Claims: qos.WithClaims}
	if v := Check(in); !v.OK || len(v.Preempt) != 1 || v.Short != v1.ResourceCPU {
		t.Errorf("verdict %+v", v)
	}
}
