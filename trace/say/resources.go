package say

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Policies names the policies by which containers can have CPUs and memory for themselves; "" if there are none.
func Policies(e *trace.ResourcesDescribed) string {
	var out []string
	add := func(what, policy string, more ...string) {
		if policy == "" || strings.EqualFold(policy, "none") {
			return
		}
		text := what + " " + policy
		if more = strings.Fields(strings.Join(more, " ")); len(more) > 0 {
			text += " (" + strings.Join(more, " ") + ")"
		}
		out = append(out, text)
	}
	add("cpuManagerPolicy", e.CPUPolicy, e.Options)
	add("memoryManagerPolicy", e.MemoryPolicy)
	add("topologyManagerPolicy", e.TopologyPolicy, e.Scope)
	if e.CPUPolicy == "static" && e.Reserved != "" {
		out = append(out, "CPUs "+e.Reserved+" are reserved")
	}
	return strings.Join(out, ", ")
}
