package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// exitShown is how long after a kill the exit of a container is shown at the latest, if it was its main process.
const exitShown = 2 * time.Second

// namedKills are the kills of processes of one container, by its id, that the kernel log names.
func (c *Case) namedKills(name, id string) (out []Point[*trace.OOMKill]) {
	for _, p := range ownPoints[*trace.OOMKill](c) {
		if e := p.Event; e.Name == name && e.Process != "" && e.Container != "" && e.Container == bare(id) {
			out = append(out, p)
		}
	}
	return out
}

// bare is a container's id without the runtime's name.
func bare(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// childFinding tells of processes that the kernel killed in a container that continues; nil if there are none. Only the kernel log shows this.
func (c *Case) childFinding(name string, exits []exitSeen) *Finding {
	all := c.states()
	at := slices.IndexFunc(all, func(s state) bool { return s.Name == name && s.State == trace.ContainerRunning })
	if at < 0 || slices.ContainsFunc(exits, func(e exitSeen) bool { return bare(e.ID) == bare(all[at].ID) }) {
		return nil
	}
	kills := c.namedKills(name, all[at].ID)
	if len(kills) == 0 || c.Now.Sub(kills[len(kills)-1].Rec.At()) < exitShown {
		return nil
	}
	last := kills[len(kills)-1].Event
	f := &Finding{Confidence: Certain}
	for _, k := range kills {
		f.Evidence = append(f.Evidence, evidence(k.Rec, "%s", say.OOM(k.Event)))
	}
	f.Evidence = few(f.Evidence)
	whose, remedy := c.whoseMemory(name)
	if last.Constraint != "" && last.Constraint != trace.OOMMemcg {
		whose, remedy = nodeMemory()
	}
	f.Sentence = fmt.Sprintf("the kernel killed %s of container %s because it was out of memory, %s; the container itself continues: %s",
		say.Victim(last), name, times(len(kills)), whose)
	f.Remedy = remedy + " Its status shows nothing of such a kill: look in its log for what the process did. singleProcessOOMKill: false kills all processes of the container instead (cgroup v2)."
	f.RuledOutBy = "The container starts such processes to use up memory, and expects that they are killed."
	return f
}
