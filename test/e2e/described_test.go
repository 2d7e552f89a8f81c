package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

// What the machine has and what containerd can do is told, and who attaches later is shown it.
func TestNodeIsDescribed(t *testing.T) {
	n := newNode(t)
	a := n.start()
	node, _ := a.wait("node.described", func(r *trace.Record) bool { _, ok := r.Event.(*trace.NodeDescribed); return ok }).Event.(*trace.NodeDescribed)
	if node.CgroupVersion == 0 || node.CgroupDriver == "" || !strings.HasPrefix(node.ContainerRuntime, "containerd://") || !node.Standalone {
		t.Errorf("%+v", node)
	}
	runtime, _ := a.wait("runtime.described", func(r *trace.Record) bool { _, ok := r.Event.(*trace.RuntimeDescribed); return ok }).Event.(*trace.RuntimeDescribed)
	if !slices.ContainsFunc(runtime.Handlers, func(h trace.RuntimeHandler) bool { return h.Name == "runc" && h.RecursiveReadOnlyMounts }) {
		t.Errorf("%+v", runtime)
	}
	if d := len(a.find(func(r *trace.Record) bool { _, ok := r.Event.(*trace.NodeDescribed); return ok })); d != 1 {
		t.Errorf("described %d times", d)
	}
	said := n.ask(0, "inspect", "node", "--socket", n.socket())
	for _, want := range []string{"RESOURCE ", "ephemeral-storage", "runc ", "this agent is standalone", node.CgroupDriver} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}
