package say

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// DevicePlugin describes a change of a device plugin.
func DevicePlugin(e *trace.DevicePlugin) string {
	who := "device plugin of " + e.Resource
	switch e.Op {
	case trace.PluginRegistered:
		return who + " registered: " + e.Socket
	case trace.PluginRefused:
		return join(who+" was refused", e.Err)
	case trace.PluginDevices:
		text := fmt.Sprintf("%s: %d healthy devices, %d unhealthy", e.Resource, e.Healthy, e.Unhealthy)
		if e.Dropped > 0 {
			text += fmt.Sprintf(", %d entries of the plugin's list ignored", e.Dropped)
		}
		return text
	case trace.PluginGone:
		return join(who+" is gone: its devices are not allocated until one registers", e.Err)
	case trace.PluginListed:
		return fmt.Sprintf("%s: %d healthy devices are listed", e.Resource, e.Healthy)
	case trace.PluginRemoved:
		return e.Resource + " is removed from the node: no device plugin registered for it for 5 min"
	}
	return words(who, string(e.Op))
}

// DeviceAllocation describes what became of a container's request for devices.
func DeviceAllocation(e *trace.DeviceAllocation) string {
	what := fmt.Sprintf("%d %s for %s", e.Count, e.Resource, e.Container)
	var how []string
	if len(e.IDs) > 0 {
		ids := strings.Join(e.IDs, ", ")
		if more := e.Count - len(e.IDs); more > 0 {
			ids += fmt.Sprintf(" and %d more", more)
		}
		if e.Nodes != "" {
			ids += " (NUMA node " + e.Nodes + ")"
		}
		how = append(how, ids)
	}
	if e.Affinity != "" && e.Affinity != e.Nodes {
		how = append(how, "NUMA nodes "+e.Affinity+" were chosen")
	}
	if e.Preferred > 0 {
		how = append(how, "its preference took "+human.Duration(e.Preferred))
	}
	text := string(e.Outcome) + " " + what
	if len(how) > 0 {
		text += ": " + strings.Join(how, "; ")
	}
	if e.Took > 0 {
		text += " (the plugin took " + human.Duration(e.Took) + ")"
	}
	return join(text, e.Err)
}
