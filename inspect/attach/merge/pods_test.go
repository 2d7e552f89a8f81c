package merge

import (
	"fmt"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

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
