package learn

import (
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Concept is the lesson of a name; the one about events if there is none.
func Concept(name string) Lesson {
	if l, ok := concepts[name]; ok {
		return l
	}
	return concepts["event"]
}

// Loop is the lesson about an iteration of the syncLoop, by its case.
func Loop(c trace.LoopCase) Lesson {
	if l, ok := concepts["loop-"+string(c)]; ok {
		return l
	}
	return concepts["syncloop"]
}

// Source is the lesson about a source of pods.
func Source(name trace.SourceName) Lesson {
	if l, ok := concepts["source-"+string(name)]; ok {
		return l
	}
	return kinds[waterfall.RowSeen]
}

// Probe is the lesson about a probe.
func Probe(kind trace.ProbeKind) Lesson { return op(string(kind) + " probe") }

// Volume is the lesson about an operation on a volume.
func Volume(o trace.VolumeOp) Lesson {
	if l, ok := ops[string(o)]; ok {
		return l
	}
	return verbs[trace.VerbVolumes]
}

// decided are the lessons about verdicts, by who decides.
var decided = map[trace.Decider]Lesson{
	trace.ByAdmission: concepts["admission"], trace.ByPreemption: concepts["admission"],
	trace.ByBackoff: waits[trace.WaitBackoff], trace.ByRestart: waits[trace.WaitBackoff],
	trace.ByContainerGC: concepts["gc"], trace.ByImageGC: concepts["gc"], trace.ByLogRotation: concepts["gc"],
	trace.ByHousekeeping: concepts["loop-housekeeping"], trace.ByOrphans: concepts["loop-housekeeping"],
	trace.ByEviction: concepts["eviction"], trace.ByPressure: concepts["eviction"],
	trace.ByShutdown: concepts["shutdown"], trace.ByNode: concepts["node"], trace.ByStatus: concepts["status"],
	trace.BySlots: waits[trace.WaitQueue], trace.ByVolumes: verbs[trace.VerbVolumes],
}

// Event is the lesson about a record, by its event.
func Event(e trace.Event) Lesson {
	switch e := e.(type) {
	case *trace.Action:
		return Action(e.Verb)
	case *trace.Wait:
		return Wait(e.For)
	case *trace.CRICall:
		return Call(e.Method)
	case *trace.CSICall:
		return Call(e.Method)
	case *trace.ImagePull, *trace.ImageProgress:
		return verbs[trace.VerbImage]
	case *trace.Loop:
		return Loop(e.Case)
	case *trace.Worker, *trace.Plan, *trace.Sync:
		return concepts["worker"]
	case *trace.PLEGEvent, *trace.PLEGRelist, *trace.PLEGMode:
		return concepts["pleg"]
	case *trace.ProbeAttempt:
		return Probe(e.Probe)
	case *trace.Volume:
		return Volume(e.Op)
	case *trace.Source:
		return Source(e.Source)
	case *trace.SourceError:
		return Source(e.Source)
	case *trace.Resize:
		return Action(trace.VerbResize)
	case *trace.PodStatus, *trace.StatusPatch:
		return concepts["status"]
	case *trace.NodeStatus, *trace.NodeDescribed:
		return concepts["node"]
	case *trace.APICall:
		if e.Resource == "leases" {
			return concepts["lease"]
		}
		return concepts["status"]
	case *trace.Gate:
		return waits[trace.WaitGate]
	case *trace.GC:
		return concepts["gc"]
	case *trace.CgroupOp:
		return verbs[trace.VerbCgroup]
	case *trace.OOMKill:
		return concepts["qos"]
	case *trace.Pressure:
		return concepts["psi"]
	case *trace.Eviction:
		return concepts["eviction"]
	case *trace.DevicePlugin, *trace.DeviceAllocation:
		return waits[trace.WaitDevices]
	case *trace.Allocation:
		if e.Manager == trace.ManagerTopology {
			return concepts["topology"]
		}
		return concepts["resources"]
	case *trace.ResourcesDescribed:
		return concepts["resources"]
	case *trace.DRAPlugin, *trace.ResourceClaim, *trace.ClaimDescribed:
		return waits[trace.WaitClaims]
	case *trace.Shutdown:
		return concepts["shutdown"]
	case *trace.RuntimeSpan:
		return kinds[waterfall.RowSpan]
	case *trace.Milestone:
		if e.Name == trace.MilestoneSeen {
			return kinds[waterfall.RowSeen]
		}
		return concepts["critical-path"]
	case *trace.Decision:
		if l, ok := decided[e.By]; ok {
			return l
		}
		return concepts["decision"]
	}
	return concepts["event"]
}
