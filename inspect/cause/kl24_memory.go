package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func memoryPressure() Rule {
	return Rule{
		ID: "KL24", Name: "memory pressure",
		About: "While the pod worked, tasks of the node stalled for memory (reclaim, refaults, swap) for 10 % of the time or more (PSI memory some), and " +
			"the node itself was short of memory: 10 % or less of it was available, or tasks had to reclaim it themselves at least once in 100 ms of the stall. A " +
			"cgroup at its own limit stalls, too, and is not reported. The cost " +
			"is that share of the pod's work to its start, or to its end, an estimate; it is reported from 10 ms and 5 % of the critical path on. A kernel without PSI reports nothing.",
		Find: memoryFigures().find,
	}
}

func memoryFigures() pressure {
	return pressure{
		resource: "memory", stall: memoryStall,
		remedy:   "See what uses the memory (systemd-cgtop -m, kubectl top pods); set requests and limits, reserve memory for the system (systemReserved), or give the node more.",
		disproof: "The same start takes as long while cat /proc/pressure/memory shows avg10 near 0.",
	}
}

// longReclaim is how long one reclaim by a task may take: so many must there be at least to explain a stall.
const longReclaim = 100 * time.Millisecond

// memoryStall is how long tasks stalled for memory while the node was short of it. Without figures of the node's memory nobody knows whether it
// was, or whether a cgroup was at its own limit.
func memoryStall(u *trace.Usage) time.Duration {
	stall, m := stallFrom(trace.ResourceMemory, 10)(u), u.Memory
	if m == nil || m.Available > m.Total/10 && time.Duration(m.Reclaims) < stall/longReclaim+1 {
		return 0
	}
	return stall
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
