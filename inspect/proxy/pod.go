package proxy

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/trace"
)

// pod is one pod, as far as its calls tell. It is guarded by the lock of pods.
type pod struct {
	id    trace.Pod
	trace trace.TraceID
	has   map[string]bool // its sandboxes
	runs  map[string]bool // containers that were started and did not end

	seen, started, ending bool
	seenAt, endingAt      time.Time
	toLast                time.Duration // from seen to the last start of a container
	last                  string        // the container that was started last
	ran                   ran           // the same one, until another is made after it
	starting, stopping    *time.Timer
	plan                  []trace.PlanStep // what was asked for so far, of this part of its life
	ends                  bool             // the plan is that of its end
}

func (p *pod) subject(sandbox string) subject {
	if p == nil {
		return subject{sandbox: sandbox}
	}
	return subject{pod: p.id, trace: p.trace, sandbox: sandbox}
}

// sourceKey is the annotation by which the kubelet says where it has a pod from.
const sourceKey = "kubernetes.io/config.source"

// begins notes that a call begins.
func (ps *pods) begins(c *call) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.byUID[c.subject.pod.UID]
	if p == nil || c.action.Verb == "" {
		return
	}
	if r, ok := c.request.(*runtimeapi.RunPodSandboxRequest); ok {
		ps.unstop(p)
		ps.seenNow(p, r.GetConfig())
	}
	if c.action.Verb == trace.VerbCreate {
		ps.initWas(p, c.action)
	}
	p.planned(c.action)
}

// seenNow begins a life of a pod. Called with mu.
func (ps *pods) seenNow(p *pod, box *runtimeapi.PodSandboxConfig) {
	if p.seen && !p.ending {
		return
	}
	ps.unstart(p)
	p.seen, p.started, p.ending, p.seenAt, p.plan = true, false, false, time.Now(), nil
	clear(p.runs)
	from := trace.SourceName(box.GetAnnotations()[sourceKey])
	trace.Point(ps.bus, p.span(0), trace.Milestone{Name: trace.MilestoneSeen, Source: from, Labels: crilist.LabelsOf(box.GetLabels())})
}

// found says of a pod that it was there when the proxy began. Called with mu.
func (ps *pods) found(p *pod, labels map[string]string) {
	if p.seen {
		return
	}
	p.seen, p.started, p.seenAt = true, true, time.Now()
	trace.Point(ps.bus, p.span(0), trace.Milestone{Name: trace.MilestoneSeen, Adopted: true, Labels: crilist.LabelsOf(labels)})
	trace.Point(ps.bus, p.span(0), trace.Milestone{Name: trace.MilestoneStarted, Adopted: true, Final: true})
}

// ended notes how a call ended.
func (ps *pods) ended(c *call, reply proto.Message, err error) {
	if err != nil {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.listed(reply)
	p := ps.byUID[c.subject.pod.UID]
	if p == nil {
		return
	}
	switch c.method.name {
	case "RunPodSandbox":
		ps.ofSandbox(idOf(reply), p)
	case "CreateContainer":
		ps.ofContainer(idOf(reply), container{pod: p, sandbox: c.subject.sandbox, name: c.subject.container})
	case "StartContainer":
		p.ran = ran{id: c.subject.id, name: c.subject.container, from: time.Now().UnixNano()}
		ps.startedOne(p, c.subject.id)
	case "ContainerStatus":
		if r, ok := reply.(*runtimeapi.ContainerStatusResponse); ok {
			at := c.came
			if at.IsZero() {
				at = time.Now()
			}
			p.statusOf(r.GetStatus(), at)
		}
	case "StopContainer":
		delete(p.runs, c.subject.id)
	case "StopPodSandbox":
		ps.stoppedOne(p)
	case "RemoveContainer":
		delete(ps.containers, c.subject.id)
		delete(p.runs, c.subject.id)
	case "RemovePodSandbox":
		delete(ps.sandboxes, c.subject.sandbox)
		delete(p.has, c.subject.sandbox)
		if len(p.has) == 0 {
			ps.gone(p)
		}
	}
}

// startedOne notes that a container was started. Whether it was the pod's last shows when none follows. Called with mu.
func (ps *pods) startedOne(p *pod, id string) {
	p.runs[id], p.last = true, id
	if p.started || !p.seen || ps.stopped {
		return
	}
	ps.unstart(p)
	p.toLast = time.Since(p.seenAt)
	ps.starting++
	p.starting = time.AfterFunc(quiet, func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		if p.starting == nil {
			return
		}
		ps.unstart(p)
		if p.started || p.ending || !p.runs[p.last] {
			return // one that ended is an init container, or will be started again
		}
		p.started = true
		late := time.Since(p.seenAt) - p.toLast
		trace.Point(ps.bus, p.span(late), trace.Milestone{Name: trace.MilestoneStarted, Since: p.toLast, Final: true})
	})
}

// unstart forgets that a start is to be settled. Called with mu.
func (ps *pods) unstart(p *pod) {
	if p.starting != nil {
		p.starting.Stop()
		p.starting = nil
		ps.starting--
	}
}

// stoppedOne notes that a sandbox was stopped. Unless another follows the pod ends. Called with mu.
func (ps *pods) stoppedOne(p *pod) {
	if p.ending || p.stopping != nil || ps.stopped {
		return
	}
	from := time.Now()
	p.stopping = time.AfterFunc(settle, func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		if p.stopping != nil {
			p.stopping = nil
			ps.ends(p, from)
		}
	})
}

func (ps *pods) unstop(p *pod) {
	if p.stopping != nil {
		p.stopping.Stop()
		p.stopping = nil
	}
}

// ends says that a pod ends. Called with mu.
func (ps *pods) ends(p *pod, from time.Time) {
	if p.ending {
		return
	}
	ps.unstart(p)
	p.ending, p.endingAt = true, from
	trace.Point(ps.bus, p.span(time.Since(from)), trace.Milestone{Name: trace.MilestoneTerminating})
}

// gone forgets a pod of which the runtime has nothing any more. Called with mu.
func (ps *pods) gone(p *pod) {
	ps.unstop(p)
	ps.ends(p, time.Now())
	trace.Point(ps.bus, p.span(0), trace.Milestone{Name: trace.MilestoneGone, Since: time.Since(p.endingAt)})
	delete(ps.byUID, p.id.UID)
	ps.drop(p)
}

// drop forgets a pod that is not among the known ones any more. Called with mu.
func (ps *pods) drop(p *pod) {
	ps.unstart(p)
	ps.unstop(p)
	ps.forget(p.id)
}

// stop ends the timers.
func (ps *pods) stop() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.stopped = true
	for _, p := range ps.byUID {
		ps.unstart(p)
		ps.unstop(p)
	}
}

// span is what is published of a pod at a time that is known so late.
func (p *pod) span(late time.Duration) trace.Span {
	s := trace.SeenBy(trace.ForPod(trace.Span{}, p.id), trace.ObserverProxy, late)
	s.Trace = p.trace
	return s
}

// known returns what is known of a pod, and what was asked for so far of this part of its life.
func (ps *pods) known(id trace.Pod) (o object, plan []trace.PlanStep, ends bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	o.pod, o.containers = id, map[string]string{}
	p := ps.byUID[id.UID]
	if p == nil {
		return o, nil, false
	}
	o.sandboxes = slices.Sorted(maps.Keys(p.has))
	for id, c := range ps.containers {
		if c.pod == p {
			o.containers[c.name] = id
		}
	}
	return o, p.plan, p.ends
}

// maxPlan bounds the steps that are remembered of one part of a life: a container may be started again any number of times.
const maxPlan = 256

// planned adds what is asked for now to what was asked for so far. What ends a pod is another plan.
func (p *pod) planned(a trace.Action) {
	ends := endsPod(a.Verb)
	if ends != p.ends || a.Verb == trace.VerbSandbox || len(p.plan) >= maxPlan {
		p.plan, p.ends = nil, ends
	}
	for i := range p.plan {
		if p.plan[i].ID == a.ID {
			return
		}
	}
	p.plan = append(slices.Clip(p.plan), trace.PlanStep{ID: a.ID, Verb: a.Verb})
}

func endsPod(v trace.Verb) bool {
	return v == trace.VerbKill || v == trace.VerbStopSandbox || v == trace.VerbRemove || v == trace.VerbRemoveSandbox
}
