package agent_test

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Before a standalone agent is ready, it publishes the node's resources, the runtime's features and the certificates.
func TestNodeIsDescribed(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, h.config())
	certificates := map[string]string{}
	var node *trace.NodeDescribed
	var runtime *trace.RuntimeDescribed
	n.until("ready", func(r *trace.Record) bool {
		switch e := r.Event.(type) {
		case *trace.NodeDescribed:
			node = e
		case *trace.RuntimeDescribed:
			runtime = e
		case *trace.Certificate:
			certificates[string(e.Use)] = e.None
		}
		a, ok := r.Event.(*trace.Agent)
		return ok && a.State == trace.AgentReady
	})
	if node == nil || runtime == nil {
		t.Fatalf("node %+v, runtime %+v", node, runtime)
	}
	has := map[string]string{}
	for _, r := range node.Resources {
		has[r.Name] = r.Capacity
	}
	if has["pods"] != "110" || has["cpu"] == "" || has["memory"] == "" || has["ephemeral-storage"] == "" {
		t.Errorf("resources %+v", node.Resources)
	}
	if !node.Standalone || node.Node != "node" || node.KubeletVersion == "" || node.Kernel == "" || len(node.Addresses) < 2 || node.CgroupVersion != 0 {
		t.Errorf("%+v", node)
	}
	if !strings.HasPrefix(node.ContainerRuntime, "kubeloupe-sim://") {
		t.Errorf("runtime %q", node.ContainerRuntime)
	}
	if len(runtime.Handlers) == 0 || !runtime.Handlers[0].UserNamespaces || runtime.Features == nil || !runtime.Features.SupplementalGroupsPolicy {
		t.Errorf("%+v", runtime)
	}
	if !strings.Contains(certificates["client"], "is standalone") || !strings.Contains(certificates["serving"], "port is off") {
		t.Errorf("certificates %q", certificates)
	}
	n.end()
}
