package e2e

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestLoudProbe has two containers whose exec probes print 10 MB every second. What the agent takes in memory does not grow with it: neither
// the records nor the answers under way keep it. Other pods start meanwhile.
func TestLoudProbe(t *testing.T) {
	const attempts = 24
	n := newNode(t)
	a := n.start()
	bounded := a.attacked()
	container := `{name: NAME, image: $BUSYBOX, command: [sleep, "3600"], readinessProbe: {periodSeconds: 1, timeoutSeconds: 20,
    exec: {command: [sh, -c, "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | head -c 10000000"]}}}`
	n.put("loud.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: loud}\nspec:\n  terminationGracePeriodSeconds: 0\n  containers:\n  - "+
		strings.ReplaceAll(container, "NAME", "one")+"\n  - "+strings.ReplaceAll(container, "NAME", "two")+"\n")
	a.ready("loud")
	n.put("other.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec:\n  terminationGracePeriodSeconds: 0\n"+
		"  containers: [{name: main, image: $BUSYBOX, command: [sleep, \"3600\"]}]\n")
	a.ready("other")
	ended := func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ProbeAttempt)
		return ok && r.Edge == trace.EdgeEnd && e.Result == trace.ProbeSuccess
	}
	for seen := uint64(0); len(a.find(ended)) < attempts; {
		seen = a.wait("another attempt", func(r *trace.Record) bool { return ended(r) && r.Seq > seen }).Seq
	}
	bounded("exec probes that print 24 times 10 MB")
}
