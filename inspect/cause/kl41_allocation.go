package cause

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func cannotAllocate() Rule {
	return Rule{
		ID: "KL41", Name: "no CPUs or memory of its own",
		About: "The agent rejected the pod because its managers could not give it CPUs, memory or devices for itself: not from the NUMA nodes that " +
			"topologyManagerPolicy requires (TopologyAffinityError), not as whole cores (SMTAlignmentError), not for containers that " +
			"share those of the pod (EmptyPodSharedPoolError), or not at all (UnexpectedAdmissionError). It rests on the managers' own record, which " +
			"has what each of them could give. Where only the pod's status is known, it is KL35's.",
		Find: findAllocation,
	}
}

// What is said of a pod with pod-level resources whose containers have nothing to share.
const (
	emptyPoolRemedy = "Request more in the pod-level resources (spec.resources) than the containers that have CPUs or memory for themselves request together, " +
		"or give each container requests that are its limits."
	emptyPoolRuledOut = "The pod-level request is larger than the sum of the requests of containers that are Guaranteed themselves."
)

// refusedAllocation is the last refusal of the pod by the managers, or nil.
func (c *Case) refusedAllocation() *Point[*trace.Allocation] {
	var last *Point[*trace.Allocation]
	for _, p := range ownPoints[*trace.Allocation](c) {
		if p.Event.Outcome == trace.AllocationRefused {
			last = &p
		}
	}
	return last
}

func findAllocation(c *Case) []Finding {
	p := c.refusedAllocation()
	if p == nil {
		return nil
	}
	e := p.Event
	if e.Code != "TopologyAffinityError" && provider(e) == "device" {
		return nil // KL42's
	}
	f := Finding{Confidence: Certain, Current: true, Final: true, Evidence: []Evidence{evidence(p.Rec, "%s: %s", e.Code, quoted(e.Err))}}
	who := "the pod"
	if e.Container != "" {
		who = "container " + e.Container
	}
	switch e.Code {
	case "TopologyAffinityError":
		never := ""
		for i := range e.Hints {
			never = cmp.Or(never, e.Hints[i].Err)
			f.Evidence = append(f.Evidence, evidence(p.Rec, "%s", say.Hints(&e.Hints[i])))
		}
		f.Sentence = fmt.Sprintf("the node has no NUMA nodes that can give %s its %s as topologyManagerPolicy %s requires (%s)", who, resources(e), e.Policy, e.Code)
		f.Remedy = "Request less of them, so that one NUMA node has enough, or end pods that have CPUs, memory or devices there for themselves; a policy that is less strict (best-effort) admits such pods."
		f.RuledOutBy = "The resources have a set of NUMA nodes in common that all of them prefer: the evidence lists the sets."
		if never != "" {
			f.Sentence = fmt.Sprintf("no NUMA nodes could ever give %s its resources (%s): %s", who, e.Code, quoted(never))
			f.Remedy, f.RuledOutBy = emptyPoolRemedy, emptyPoolRuledOut
		}
	case "SMTAlignmentError":
		f.Sentence = fmt.Sprintf("the node cannot give %s whole cores (%s): %s", who, e.Code, quoted(e.Err))
		f.Remedy = "Request a multiple of the threads of a core, or end pods that have CPUs for themselves; without full-pcpus-only (cpuManagerPolicyOptions), pods share cores."
		f.RuledOutBy = "The request is a multiple of the threads of a core, and as many whole cores are free."
	case "EmptyPodSharedPoolError":
		f.Sentence = fmt.Sprintf("the %s manager has nothing for the containers of the pod that share (%s): %s", provider(e), e.Code, quoted(e.Err))
		f.Remedy, f.RuledOutBy = emptyPoolRemedy, emptyPoolRuledOut
	default:
		f.Sentence = fmt.Sprintf("the %s manager could not give %s what it requests (%s): %s", provider(e), who, e.Code, quoted(e.Err))
		f.Remedy = "Request less, or end pods that have CPUs or memory for themselves: reservations (reservedSystemCPUs, reservedMemory) and NUMA nodes leave less than node allocatable shows."
		f.RuledOutBy = "The manager has enough free at that time: the records of kind allocation list what each container has."
	}
	f.Remedy += " A rejected pod stays Failed: delete it; its controller makes another one."
	return []Finding{f}
}

// resources lists what the pod requested of NUMA nodes.
func resources(e *trace.Allocation) string {
	var names []string
	for _, h := range e.Hints {
		if h.Resource != "" {
			names = append(names, h.Resource)
		}
	}
	return cmp.Or(strings.Join(names, " and "), "resources")
}

func provider(e *trace.Allocation) string {
	if len(e.Hints) > 0 {
		return e.Hints[0].Provider
	}
	return string(e.Manager)
}
