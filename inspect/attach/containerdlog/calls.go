package containerdlog

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// call is a call that has begun.
type call struct {
	told
	pod           *pod
	action, grace *span
	span, pull    *span
	bytes         int64
	owner         *owner // of its records; nil if its pod is not known and it is not a pull
	sole          *pod   // the only pod that can have asked for it
	taken         bool   // a pod has the pull
	past          bool   // its pod is not busy with it any more
	to            int64
	at            *list.Element
	by, like      string // its key and its subject
	crioCall
}

// verbs are the actions that consist of one call.
var verbs = map[string]trace.Verb{
	"RunPodSandbox": trace.VerbSandbox, "CreateContainer": trace.VerbCreate, "StartContainer": trace.VerbStart, "StopContainer": trace.VerbKill,
	"StopPodSandbox": trace.VerbStopSandbox, "RemovePodSandbox": trace.VerbRemoveSandbox, "RemoveContainer": trace.VerbRemove,
	"UpdateContainerResources": trace.VerbResize,
}

// action is what a call is in a pod's start or end.
func (c *call) asAction(err string) *trace.Action {
	a := &trace.Action{Verb: verbs[c.method], Container: c.name, Err: err, Class: trace.Classify(err)}
	a.ID = string(a.Verb)
	if c.name != "" {
		a.ID += " " + c.name
	}
	if c.method == "StopContainer" || c.method == "RemoveContainer" {
		a.Target = c.container
	}
	return a
}

func (f *Fold) begins(t *told, at int64) {
	c := &call{told: *t, pod: f.podOf(t), by: t.key(), like: t.subject()}
	if known := f.all[t.container]; known != nil {
		c.name = known.name
	}
	if t.method == "PullImage" && t.request != "" { // two pods may pull one image
		c.like = c.by
	}
	if old := f.pending[c.like]; old != nil && old.by == c.by { // its end is not in the log
		f.over(old)
	} else if old != nil { // perhaps: CRI-O does not log the end of each call
		f.passed(old)
	}
	if f.begun.Len() >= maxPending {
		if old, ok := f.begun.Front().Value.(*call); ok {
			f.over(old)
		}
	}
	f.pending[c.by], f.pending[c.like] = c, c
	c.at = f.begun.PushBack(c)
	p := c.pod
	if t.method == "PullImage" {
		f.pullBegins(c, at)
		return
	}
	o := &owner{}
	if p == nil && t.method == "CreateContainer" { // whoever it is may have pulled for it
		f.pulls = nil
	}
	if p != nil {
		o = p.owner
		if t.method == "RunPodSandbox" && t.pod.UID == "" && p.id.UID != "" { // perhaps of another pod of this name: see learn
			o = &owner{pod: p}
		}
		c.owner = o
		p.busy++
		f.ofPod(p, c, at)
		if verbs[t.method] != "" {
			c.action = f.begin(o, nil, at, c.asAction(""))
		}
		if t.method == "StopContainer" && t.limit > 0 {
			c.grace = f.begin(o, c.action, at, &trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: c.name}, Limit: t.limit})
		}
	}
	c.span = f.begin(o, c.action, at, &trace.CRICall{Method: t.method, Sandbox: t.sandbox, Container: c.container, Image: t.image})
}

// ofPod is what the begin of a call means for its pod.
func (f *Fold) ofPod(p *pod, c *call, at int64) {
	switch c.method {
	case "RunPodSandbox":
		if !p.started {
			f.starting[p] = true
		}
	case "CreateContainer":
		f.initWas(p, c.name)
		f.pullOf(p, c.name, at)
		f.goesOn(p)
		p.names[c.name] = true
	case "StopPodSandbox", "RemovePodSandbox":
		delete(f.starting, p)
	}
}

// over forgets a call of which the log has no end.
func (f *Fold) over(c *call) {
	f.begun.Remove(c.at)
	for _, key := range []string{c.by, c.like} {
		if f.pending[key] == c {
			delete(f.pending, key)
		}
	}
	f.passed(c)
}

// passed says that a pod is not busy with a call any more.
func (f *Fold) passed(c *call) {
	if c.pod != nil && c.method != "PullImage" && !c.past {
		c.past = true
		c.pod.busy--
	}
}

func (f *Fold) ends(t *told, at int64) {
	c := f.pending[t.key()]
	if c == nil { // it began before the log
		f.knows(t)
		return
	}
	if t.edge == undone && c.detailed {
		return // its error follows
	}
	f.over(c)
	c.sandbox, c.container = cmp.Or(t.sandbox, c.sandbox), cmp.Or(t.container, c.container)
	if t.edge != ends {
		t.err = cmp.Or(t.err, c.trouble)
	}
	f.linked(c, at, t.edge != ends)
	ev := &trace.CRICall{Method: c.method, Sandbox: c.sandbox, Container: c.container, Image: c.image, Code: "OK", Err: t.err, Class: trace.Classify(t.err)}
	if t.edge != ends {
		ev.Code, ev.Plugin = codeOf(t.err), trace.PluginIn(t.err)
	}
	if c.method == "PullImage" {
		f.pullEnds(c, t, ev, at)
		return
	}
	if c.method == "RunPodSandbox" {
		f.beforeShim(c, at)
	}
	f.end(c.span, at, ev)
	f.end(c.grace, at, nil)
	if p := c.pod; p != nil {
		err := t.err
		if err == "" && t.edge != ends {
			err = noReason
		}
		f.end(c.action, at, c.asAction(err))
		p.idle = at
		if t.edge == ends {
			f.knowsOf(p, c, at)
		}
	}
}

// knows takes in the ids that the end of a call tells.
func (f *Fold) knows(t *told) {
	if t.edge == ends && t.method == "RunPodSandbox" {
		f.has(f.named(t.pod), t.sandbox)
	}
	if t.edge == ends && t.method == "CreateContainer" {
		f.holds(f.podOf(t), t.container, t.name)
	}
}

// knowsOf is what the success of a call means for its pod.
func (f *Fold) knowsOf(p *pod, c *call, at int64) {
	switch c.method {
	case "RunPodSandbox":
		f.has(p, c.sandbox)
	case "CreateContainer":
		f.holds(p, c.container, c.name)
	case "StartContainer":
		if k := f.all[c.container]; k != nil {
			if k.from = at; k.to != 0 { // it ended before the call did
				k.to = max(k.to, at)
			}
		}
		p.lastStart = at
	case "RemovePodSandbox":
		p.boxes = slices.DeleteFunc(p.boxes, func(id string) bool { return id == c.sandbox })
		delete(f.boxes, c.sandbox)
		if len(p.boxes) == 0 {
			f.put(p.owner, at, trace.Record{Span: f.nextID(), Event: &trace.Milestone{Name: trace.MilestoneGone}})
			f.drop(p)
		}
	}
}

const (
	// pullSlack is how long after a pull its container is made at the latest.
	pullSlack = 500 * time.Millisecond
	// pullsWithin is how soon after a container's start the kubelet pulls the image of the pod's next one, where no hook holds it up.
	pullsWithin = time.Second
)

func (f *Fold) pullBegins(c *call, at int64) {
	c.owner = &owner{}
	n := 0
	for p := range f.starting {
		if p.busy == 0 && p.idle <= at && !f.settled(p, at) {
			c.sole = p
			n++
		}
	}
	if n != 1 {
		c.sole = nil
	}
	if p := f.asker(c.by); p != nil {
		c.sole, c.owner.pod = p, p
	}
	c.pull = f.begin(c.owner, nil, at, &trace.ImagePull{Image: c.image})
	c.span = f.begin(c.owner, c.pull, at, &trace.CRICall{Method: c.method, Image: c.image})
}

func (f *Fold) pullEnds(c *call, t *told, ev *trace.CRICall, at int64) {
	f.end(c.span, at, ev)
	f.end(c.pull, at, &trace.ImagePull{Image: c.image, Ref: t.ref, Bytes: c.bytes, Err: t.err, Class: trace.ClassifyPull(t.err)})
	if c.to = at; c.sole != nil && t.edge == ends {
		f.pulls = append(f.pulls, c)
		if len(f.pulls) > 64 {
			f.pulls = f.pulls[1:]
		}
	}
}

// pullOf gives a pod the pull that only it can have asked for, and after which it goes on.
func (f *Fold) pullOf(p *pod, name string, at int64) {
	f.pulls = slices.DeleteFunc(f.pulls, func(c *call) bool { return at-c.to > int64(pullSlack) || c.taken })
	for _, c := range f.pulls {
		if c.sole != p || c.pull.from < p.idle {
			continue
		}
		a := f.was(p.owner, nil, c.pull.from, c.to, &trace.Action{ID: "image " + name, Verb: trace.VerbImage, Container: name, Target: c.image})
		c.owner.pod, c.owner.above, c.taken = p, a.id, true
		return
	}
}

// settled reports whether a pod most likely pulls nothing more: a container of it was started a while ago, and runs, and none has ended since.
func (f *Fold) settled(p *pod, at int64) bool {
	if p.lastStart == 0 || at-p.lastStart < int64(pullsWithin) || !f.runs(p) {
		return false
	}
	return !slices.ContainsFunc(p.ids, func(id string) bool {
		c := f.all[id]
		return c != nil && c.to > p.lastStart
	})
}

// goesOn says that a pod makes a container, for which it may have pulled: then no other pod can be said to have asked for a pull of that
// time.
func (f *Fold) goesOn(p *pod) {
	for _, c := range f.pulls {
		if c.owner.pod == nil && c.pull.from >= p.idle {
			c.sole = nil
		}
	}
}

// beforeShim tells of the part of RunPodSandbox before the sandbox's process: in it the runtime makes the pod's network, and the sandbox's
// image where it is missing, of which there is another line.
func (f *Fold) beforeShim(c *call, at int64) {
	shim := f.shims[c.sandbox]
	delete(f.shims, c.sandbox)
	if c.pod == nil || shim <= c.span.from || shim > at || f.fetched > c.span.from && f.fetched <= shim {
		return
	}
	f.put(c.pod.owner, at, trace.Record{Span: f.nextID(), Parent: c.span.id, Event: &trace.RuntimeSpan{
		Name: trace.SpanBeforeShim, Service: "containerd", Start: c.span.from, Dur: time.Duration(shim - c.span.from),
	}})
}
