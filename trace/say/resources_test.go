package say

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestPolicies(t *testing.T) {
	none := trace.ResourcesDescribed{CPUPolicy: "none", MemoryPolicy: "None", TopologyPolicy: "none", Nodes: make([]trace.NUMANode, 2)}
	all := trace.ResourcesDescribed{
		CPUPolicy: "static", Options: "full-pcpus-only", MemoryPolicy: "Static", TopologyPolicy: "restricted", Scope: "pod", Reserved: "0-1", Pool: "0-7",
		Nodes: make([]trace.NUMANode, 2),
	}
	const text = "cpuManagerPolicy static (full-pcpus-only), memoryManagerPolicy Static, topologyManagerPolicy restricted (pod), CPUs 0-1 are reserved"
	for _, c := range []struct {
		e           trace.ResourcesDescribed
		line, brief string
	}{{none, "", "2 NUMA nodes"}, {all, text, "2 NUMA nodes " + text}} {
		if got := Line(&trace.Record{Event: &c.e}); got != c.line {
			t.Errorf("got %q, want %q", got, c.line)
		}
		if got := Brief(&c.e); got != c.brief {
			t.Errorf("got %q, want %q", got, c.brief)
		}
	}
}
