package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// oomKilled is the reason of a container that the kernel ended because it was out of memory.
const oomKilled = "OOMKilled"

func outOfMemory() Rule {
	return Rule{
		ID: "KL32", Name: "out of memory",
		About: "The kernel killed a container because it was out of memory: at the container's own limit where it has one, else because its pod or " +
			"the node had no more. It rests on the reason OOMKilled of the container's exit, which the runtime reports. A container that lost only " +
			"a child process and continues has no such exit: it is reported where the kernel log names the process.",
		Find: findOutOfMemory,
	}
}

// exitSeen is an exit of a container as a status has it.
type exitSeen struct {
	*trace.ContainerExit
	name     string
	rec      *trace.Record
	restarts int
}

// exitsSeen are the exits of the pod's containers, each once, in order.
func (c *Case) exitsSeen() (out []exitSeen) {
	for _, p := range ownPoints[*trace.PodStatus](c) {
		for i := range p.Event.Containers {
			s := state{&p.Event.Containers[i], p.Rec, p.Rec}
			for _, e := range []*trace.ContainerExit{s.Last, s.exit()} {
				if e == nil || slices.ContainsFunc(out, func(o exitSeen) bool {
					return o.name == s.Name && o.ID == e.ID && o.Finished.Equal(e.Finished) && o.ExitCode == e.ExitCode
				}) {
					continue
				}
				out = append(out, exitSeen{e, s.Name, p.Rec, s.Restarts})
			}
		}
	}
	return out
}

func findOutOfMemory(c *Case) (out []Finding) {
	exits := c.exitsSeen()
	for _, name := range c.containerNames() {
		var mine []exitSeen
		for _, e := range exits {
			if e.name == name {
				mine = append(mine, e)
			}
		}
		if n := len(mine); n > 0 && mine[n-1].Reason == oomKilled {
			out = append(out, c.memoryFinding(name, mine))
		} else if f := c.childFinding(name, mine); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

func (c *Case) memoryFinding(name string, exits []exitSeen) Finding {
	var from time.Time
	f := Finding{Confidence: Certain, Current: c.unwell()}
	n := 0
	for _, e := range exits {
		if e.Reason != oomKilled {
			continue
		}
		if n++; from.IsZero() {
			from = e.rec.At()
		}
		f.Evidence = append(f.Evidence, evidence(e.rec, "container %s: %s", name, say.Exit(e.ContainerExit)))
	}
	last := exits[len(exits)-1]
	f.Cost = c.costFrom(from, last.rec.At(), f.Current)
	f.Evidence = append(f.Evidence, c.oomKills(name)...)
	inTime(f.Evidence)
	f.Evidence = few(f.Evidence)
	whose, remedy := c.whoseMemory(name)
	if k := c.namedKills(name, last.ID); len(k) > 0 {
		e := k[len(k)-1].Event
		if e.Constraint != "" && e.Constraint != trace.OOMMemcg {
			whose, remedy = nodeMemory()
		}
		whose = "the kernel killed " + say.Victim(e) + "; " + whose
	}
	f.Sentence = fmt.Sprintf("container %s was killed because it was out of memory (OOMKilled, exit code %d), %s: %s", name, last.ExitCode, times(max(n, min(last.restarts, n+1))), whose)
	f.Remedy = remedy
	f.RuledOutBy = "Something else sent SIGKILL: the kernel's log has no line \"Memory cgroup out of memory\" or \"Out of memory\" at that time (journalctl -k)."
	return f
}

// whoseMemory says which limit was reached, and what to do.
func (c *Case) whoseMemory(name string) (whose, remedy string) {
	spec, all := c.specOf(name), c.spec()
	switch {
	case spec != nil && spec.MemoryLimit > 0:
		return "its own memory limit is " + human.Bytes(spec.MemoryLimit),
			"Raise the memory limit of container " + name + ", or let it use less: a runtime with a heap of its own (Java, Node.js, Go) must be given less than the limit. What it writes to an emptyDir of medium Memory counts, too."
	case all != nil && all.MemoryLimit > 0:
		return "it has no memory limit of its own, and its pod has one of " + human.Bytes(all.MemoryLimit),
			"Raise the pod's memory limit, or let its containers use less: they share it."
	case all != nil && all.QoS == trace.QoSBestEffort:
		_, remedy = nodeMemory()
		return "it has no memory limit, so the node itself was out of memory", remedy
	}
	return "no record has a memory limit of it",
		"Compare what it uses with its memory limit (kubectl top pod; kubectl get pod -o yaml), and raise the limit or let it use less. Without a limit, the node was out of memory: journalctl -k."
}

// nodeMemory is what whoseMemory says where the node was out of memory, whatever the limits.
func nodeMemory() (whose, remedy string) {
	return "the node had no free memory",
		"Give the pods of the node requests that fit what they use, and this one a limit; see what used the memory (journalctl -k lists all processes), and reserve memory for the system (systemReserved)."
}

// oomKills are the kernel's kills in a container, as an observer told them.
func (c *Case) oomKills(container string) (out []Evidence) {
	for _, p := range ownPoints[*trace.OOMKill](c) {
		if p.Event.Name == container {
			out = append(out, evidence(p.Rec, "%s", say.OOM(p.Event)))
		}
	}
	return out
}
