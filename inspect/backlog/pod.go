package backlog

import (
	"cmp"
	"container/list"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPulls bounds pulls of a pod whose progress is kept.
const maxPulls = 64

// pod is what is kept of one pod.
//
// Many fields: one for each kind of record that a late reader needs of a pod.
type pod struct {
	key   trace.Pod
	first *item
	last  *item
	heard *list.Element // of Store.heard
	// prior are two records of an earlier pod of the same identity: it terminated, it is gone.
	prior []*item
	run   run

	// seen is the last milestone of that name, the others are the first.
	seen, started, ready *item
	// ending is what first said that it terminates; gone that it is gone, at goneAt.
	ending, gone *item
	goneAt       int64
	next         *item // the milestone seen of the pod's next life, while this one terminates

	status   *item // the last
	worker   *item // the last word of its worker, the one that brought it to its state, and the one before that
	moved    *item
	left     *item
	state    trace.WorkerState
	sync     *item // the last pass that ended
	plan     *item
	retry    *item                    // the last decision that says when a back-off ends
	progress map[trace.SpanID]*item   // of pulls, by their spans
	pulls    map[string]*item         // the last that ended, by image
	volumes  map[string]*volume       // by name
	within   map[trace.SpanID]*volume // by the open spans of their operations and calls
	probes   map[[2]string]*probe
	writes   writes
}

func (k *Store) newPod(key trace.Pod, first *item) *pod {
	return &pod{
		key: key, first: first, run: newRun(k.opt.PerRun),
		progress: map[trace.SpanID]*item{}, volumes: map[string]*volume{}, within: map[trace.SpanID]*volume{},
		probes: map[[2]string]*probe{}, pulls: map[string]*item{},
	}
}

// inPassing reports whether a pod was only named by something.
func (p *pod) inPassing() bool {
	return p.seen == nil && p.started == nil && p.ready == nil && p.ending == nil && p.status == nil && p.worker == nil
}

func (p *pod) walk(v visit) {
	words, parts, history := needPod, needParts, needHistory
	if p.gone != nil {
		words, parts, history = needHistory, needPast, needPast
	}
	one(v, words, &p.last, &p.first, &p.seen, &p.started, &p.ready, &p.ending, &p.gone, &p.next)
	one(v, words, &p.status, &p.worker, &p.moved, &p.left, &p.sync, &p.plan, &p.retry)
	many(v, parts, &p.prior)
	table(v, parts, p.progress)
	table(v, parts, p.pulls)
	maps.DeleteFunc(p.volumes, func(_ string, vol *volume) bool { return !vol.walk(v, parts) })
	maps.DeleteFunc(p.probes, func(_ [2]string, pr *probe) bool { return !pr.walk(v, parts) })
	p.writes.walk(v, parts)
	p.run.walk(v, history)
}

// podFor returns the pod that a record is about.
func (k *Store) podFor(r *trace.Record) *pod {
	p := k.pods[r.Pod]
	if p == nil {
		if len(k.pods) >= k.opt.Pods {
			k.dropQuietest()
		}
		p = k.newPod(r.Pod, nil)
		k.pods[r.Pod], p.heard = p, k.heard.PushBack(p)
	}
	k.heard.MoveToBack(p.heard)
	p.last = k.last
	return p
}

func (k *Store) dropQuietest() {
	if quiet, ok := k.heard.Front().Value.(*pod); ok {
		k.drop(quiet)
	}
}

// drop forgets a pod.
func (k *Store) drop(p *pod) {
	delete(k.pods, p.key)
	k.heard.Remove(p.heard)
	k.lost += p.run.lost
	k.gone = slices.DeleteFunc(k.gone, func(o *pod) bool { return o == p })
}

// foldPod keeps what a record says of a pod.
func (k *Store) foldPod(p *pod, r *trace.Record, it *item) {
	if p.first == nil {
		p.first = it
	}
	p.run.add(r, it, k.opt.PerRun)
	switch e := r.Event.(type) {
	case *trace.Milestone:
		k.foldMilestone(p, e, it)
	case *trace.PodStatus:
		p.status = it
	case *trace.Worker:
		p.foldWorker(e, it)
	case *trace.Sync:
		k.foldSync(p, r, it)
	case *trace.Plan:
		p.plan = it
	case *trace.Decision:
		p.foldDecision(e, it)
	case *trace.Wait:
		p.foldWait(r, e, it)
	case *trace.ImagePull:
		p.pulled(r, e, it, k.open.Has)
	case *trace.ImageProgress:
		p.foldProgress(r, it)
	case *trace.Volume:
		p.foldVolume(r, e, it)
	case *trace.VolumeProgress:
		p.volumeProgress(r, it)
	case *trace.CSICall:
		p.foldCSI(r, it)
	case *trace.StatusPatch:
		p.foldWrite(r, e, it)
	case *trace.ProbeAttempt:
		p.foldAttempt(r, e, it)
	}
}

func (p *pod) foldWorker(e *trace.Worker, it *item) {
	if p.moved == nil || p.state != e.To {
		p.left, p.moved, p.state = p.worker, it, e.To
	}
	p.worker = it
	if evidence.Ends(e) {
		p.end(it)
	}
}

func (k *Store) foldSync(p *pod, r *trace.Record, it *item) {
	if r.Edge != trace.EdgeBegin {
		p.sync = it
		return
	}
	// A worker is serial: what an earlier pass left open has ended unseen.
	k.open.Settle(k.open.Doubtful(func(o *item) bool {
		switch o.first.Event.(type) {
		case *trace.Sync, *trace.Action:
			return o != it && o.first.Pod == p.key
		}
		return false
	})...)
}

// foldDecision keeps the one that says until when a back-off lasts.
func (p *pod) foldDecision(e *trace.Decision, it *item) {
	if !evidence.RetryAt(e).IsZero() {
		p.retry = it
	}
}

func (p *pod) foldWait(r *trace.Record, e *trace.Wait, it *item) {
	if r.Edge != trace.EdgeBegin || e.For != trace.WaitProbe {
		return
	}
	if pr := p.probes[[2]string{e.Target.Name, e.Target.Container}]; pr != nil && e.Until > 0 {
		pr.next = it
	}
}

func (p *pod) foldProgress(r *trace.Record, it *item) {
	id := cmp.Or(r.Parent, r.Span)
	if p.progress[id] == nil && len(p.progress) >= maxPulls {
		return
	}
	p.progress[id] = it
}

// pulled drops the progress of a pull that ended, and of one of its image whose begin nobody saw.
func (p *pod) pulled(r *trace.Record, e *trace.ImagePull, it *item, open func(trace.SpanID) bool) {
	if r.Edge == trace.EdgeBegin {
		return
	}
	if len(p.pulls) < maxPulls || p.pulls[e.Image] != nil {
		p.pulls[e.Image] = it
	}
	delete(p.progress, r.Span)
	maps.DeleteFunc(p.progress, func(id trace.SpanID, it *item) bool {
		was, ok := it.first.Event.(*trace.ImageProgress)
		return ok && was.Image == e.Image && !open(id)
	})
}
