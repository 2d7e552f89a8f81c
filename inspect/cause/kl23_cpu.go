package cause

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func cpuPressure() Rule {
	return Rule{
		ID: "KL23", Name: "CPU pressure",
		About: "While the pod worked, tasks of the node waited for a processor for 50 % of the time or more (PSI cpu some) and the processors were busy for " +
			"90 % or more. Where the kernel has no PSI: busy for 95 % or more, and the agent's own threads waited for a processor for 10 % of it. The cost is " +
			"that share of the pod's work to its start, or to its end, an estimate; it is reported from 10 ms and 5 % of the critical path on.",
		Find: cpuFigures().find,
	}
}

func cpuFigures() pressure {
	return pressure{
		resource: "a processor", stall: cpuStall, notPulls: true,
		remedy:   "See what uses the processors (systemd-cgtop, kubectl top pods); limit how many pods start at once, reserve CPU for the system (kubeReserved, systemReserved), or spread the pods.",
		disproof: "The same start takes as long on the node when it is idle (cat /proc/pressure/cpu shows avg10 near 0).",
	}
}

// cpuStall is how long tasks waited for a processor, where the processors had no room.
func cpuStall(u *trace.Usage) time.Duration {
	for _, s := range u.Stalls {
		if s.Resource == trace.ResourceCPU {
			if percentOf(s.Some, u.Interval) < 50 || u.Busy > 0 && busyShare(u) < 90 {
				return 0
			}
			return s.Some
		}
	}
	if busyShare(u) < 95 || percentOf(u.RunDelay, u.Interval) < 10 {
		return 0
	}
	return u.RunDelay
}
