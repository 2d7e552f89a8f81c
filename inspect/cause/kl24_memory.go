package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func memoryPressure() Rule {
	return Rule{
		ID: "KL24", Name: "memory pressure",
		About: "While the pod worked, tasks of the node stalled for memory (reclaim, refaults, swap) for 10 % of the time or more (PSI memory some). The cost " +
			"is that share of the pod's work to its start, or to its end, an estimate; it is reported from 10 ms and 5 % of the critical path on. A kernel without PSI reports nothing.",
		Find: pressure{
			resource: "memory", stall: stallFrom(trace.ResourceMemory, 10),
			remedy:   "See what uses the memory (systemd-cgtop -m, kubectl top pods); set requests and limits, reserve memory for the system (systemReserved), or give the node more.",
			disproof: "The same start takes as long while cat /proc/pressure/memory shows avg10 near 0.",
		}.find,
	}
}

// stallFrom is how long tasks stalled for a resource, from a share of the interval on, in percent.
func stallFrom(resource trace.Resource, share int) func(*trace.Usage) time.Duration {
	return func(u *trace.Usage) time.Duration {
		if s := stalled(u, resource); percentOf(s.Some, u.Interval) >= share {
			return s.Some
		}
		return 0
	}
}
