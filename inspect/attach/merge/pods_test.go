package merge

import (
	"fmt"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestUIDOfAnother: a pod of another name, whose creator gave it the UID of a static pod, is not this pod.
func TestUIDOfAnother(t *testing.T) {
	ps := newPods()
	etcd, other, unnamed := trace.Pod{Namespace: "kube-system", Name: "etcd", UID: "u1"}, trace.Pod{Namespace: "shop", Name: "x", UID: "u1"}, trace.Pod{Namespace: "_", Name: "u1", UID: "u1"}
	first := ps.of(etcd, trace.TraceID{})
	second := ps.of(other, trace.TraceID{})
	if first == second || ps.of(other, trace.TraceID{}) != second || ps.of(etcd, trace.TraceID{}) != first || ps.of(unnamed, trace.TraceID{}) != first {
		t.Error("two pods are mixed up, or one has two identities")
	}
	if first.pod != etcd || second.pod != other {
		t.Errorf("got %+v and %+v", first.pod, second.pod)
	}
}

// TestPodsAreBounded: also of pods whose UIDs are known only later nothing is left.
func TestPodsAreBounded(t *testing.T) {
	ps := newPods()
	for i := range 2 * maxPods {
		name := fmt.Sprint(i)
		id := ps.of(trace.Pod{Namespace: "shop", Name: name}, trace.TraceID{})
		if again := ps.of(trace.Pod{Namespace: "shop", Name: name, UID: name}, trace.TraceID{}); again != id {
			t.Fatalf("pod %s has two identities", name)
		}
	}
	if len(ps.byUID) > maxPods || len(ps.byName) > maxPods {
		t.Errorf("%d UIDs and %d names, want at most %d", len(ps.byUID), len(ps.byName), maxPods)
	}
}
