package containerdlog

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// pod is one life of a pod, as far as the runtime knows it.
type pod struct {
	id     trace.Pod
	trace  trace.TraceID
	sealed bool // records of it are out: its id stays
	owner  *owner
	at     *list.Element
	boxes  []string
	ids    []string // of containers
	names  map[string]bool

	busy      int   // calls that have begun and not ended
	idle      int64 // the end of the last one, or of a container
	lastStart int64
	started   bool
}

// container is one of a pod's containers, one try of it.
type container struct {
	name    string
	pod     *pod
	from    int64 // when it had started; 0 before
	to      int64 // when it ended; 0 while it runs
	left    int64 // when CRI-O saw that it had ended, before it knew the exit code
	exit    int32
	counted bool // as an init container
}

// named returns the pod that a sandbox is made for, made where it is new; nil without a name.
func (f *Fold) named(id trace.Pod) *pod {
	if id.Name == "" || id.Namespace == "" {
		return nil
	}
	key := id.String()
	if id.UID != "" {
		key = id.UID
	}
	if p := f.pods[key]; p != nil {
		return p
	}
	if f.order.Len() >= maxPods {
		if old, ok := f.order.Front().Value.(*pod); ok {
			f.drop(old)
		}
	}
	p := &pod{id: id, trace: trace.TraceID{Hi: 2, Lo: uint64(f.nextID())}, names: map[string]bool{}}
	p.owner = &owner{pod: p}
	p.at = f.order.PushBack(p)
	f.pods[key] = p
	return p
}

func (f *Fold) drop(p *pod) {
	f.order.Remove(p.at)
	delete(f.starting, p)
	for _, key := range []string{p.id.UID, p.id.String()} {
		if f.pods[key] == p {
			delete(f.pods, key)
		}
	}
	for _, id := range p.boxes {
		delete(f.boxes, id)
	}
	for _, id := range p.ids {
		delete(f.all, id)
	}
}

// has notes that a sandbox is a pod's.
func (f *Fold) has(p *pod, sandbox string) {
	if p == nil || sandbox == "" || f.boxes[sandbox] == p {
		return
	}
	if len(p.boxes) >= maxSandboxes {
		delete(f.boxes, p.boxes[0])
		p.boxes = p.boxes[1:]
	}
	p.boxes = append(p.boxes, sandbox)
	f.boxes[sandbox] = p
}

// holds notes that a container is a pod's.
func (f *Fold) holds(p *pod, id, name string) {
	if p == nil || id == "" || name == "" || f.all[id] != nil {
		return
	}
	if len(p.ids) >= maxContainers {
		delete(f.all, p.ids[0])
		p.ids = p.ids[1:]
	}
	p.ids = append(p.ids, id)
	f.all[id] = &container{name: name, pod: p}
}

// podOf is the pod that a call is for; nil where that is not known.
func (f *Fold) podOf(t *told) *pod {
	if t.pod.Name != "" {
		return f.named(t.pod)
	}
	if p := f.boxes[t.sandbox]; p != nil {
		return p
	}
	if c := f.all[t.container]; c != nil {
		return c.pod
	}
	return nil
}

// exited is the end of a container's process. Sandboxes have one too.
func (f *Fold) exited(t *told) {
	c := f.all[t.container]
	if c == nil || c.to != 0 {
		return
	}
	c.to, c.exit = max(cmp.Or(c.left, t.at), c.from), t.exit
	c.pod.idle = c.to
	f.put(c.pod.owner, c.to, trace.Record{Span: f.nextID(), Event: &trace.PLEGEvent{
		Type: trace.ContainerDied, Container: t.container, Name: c.name, From: trace.PLEGEvented,
	}})
}

// initWas says that a container was an init container: it ended well before another one was made for the first time, and nothing else ran.
func (f *Fold) initWas(p *pod, next string) {
	if p.names[next] || p.started {
		return
	}
	var last *container
	for _, id := range p.ids {
		c := f.all[id]
		if c == nil || c.from == 0 {
			continue
		}
		if c.to == 0 {
			return // it goes on: the next one is beside it
		}
		last = c
	}
	if last == nil || last.exit != 0 || last.counted || last.name == next {
		return
	}
	last.counted = true
	f.was(p.owner, nil, last.from, last.to, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: last.name}})
}

// settle says of pods that their containers have started, where the log is quiet about them.
func (f *Fold) settle(now int64, all bool) {
	if len(f.starting) == 0 || !all && now >= f.checked && now-f.checked < int64(time.Second/2) { // a clock that was set back is due
		return
	}
	f.checked = now
	for _, p := range slices.SortedFunc(maps.Keys(f.starting), func(a, b *pod) int { return cmp.Compare(a.trace.Lo, b.trace.Lo) }) {
		since := now - max(p.lastStart, p.idle)
		if p.busy > 0 || !all && since < int64(quiet) || all && since < int64(2*time.Second) {
			continue
		}
		if p.lastStart == 0 && !all && since < int64(time.Hour) {
			continue // a sandbox whose first container waits for its image
		}
		delete(f.starting, p)
		if p.lastStart == 0 || !f.runs(p) {
			continue
		}
		p.started = true
		f.put(p.owner, p.lastStart, trace.Record{Span: f.nextID(), Event: &trace.Milestone{Name: trace.MilestoneStarted}})
	}
}

// runs reports whether a container of the pod runs.
func (f *Fold) runs(p *pod) bool {
	return slices.ContainsFunc(p.ids, func(id string) bool {
		c := f.all[id]
		return c != nil && c.from != 0 && c.to == 0
	})
}
