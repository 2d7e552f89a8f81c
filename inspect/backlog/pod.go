package backlog

import (
	"cmp"
	"container/list"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPulls is the maximum number of a pod's pulls whose progress is kept.
const maxPulls = 64

// pod is what is kept about one pod.
//
// Many fields: one for each kind of record that a late reader needs about a pod.
type pod struct {
	key   trace.Pod
	first *store.Item
	last  *store.Item
	heard *list.Element // in Store.heard
	// prior are two records of an earlier pod with the same identity: that it terminated and that it is gone.
	prior []*store.Item
	run   *store.PodRun // nil for a pod without a name
	lost  uint64        // records that explain its runs, dropped because of the limits

	// seen is the last such milestone, the others are the first.
	seen, started, ready *store.Item
	// ending is the first record that it terminates; gone that it is gone, at goneAt.
	ending, gone *store.Item
	goneAt       int64
	next         *store.Item // the milestone seen of the pod's next run, while this one terminates

	status   *store.Item // the last
	worker   *store.Item // the last record of its worker, the one that set its current state, and the one before that
	moved    *store.Item
	left     *store.Item
	state    trace.WorkerState
	sync     *store.Item // the last pass that ended
	plan     *store.Item
	retry    *store.Item                  // the last decision with the end of a back-off
	progress map[trace.SpanID]*store.Item // of pulls, by span
	pulls    map[string]*store.Item       // the last pull that ended, by image
	volumes  map[string]*volume           // by name
	within   map[trace.SpanID]*volume     // by open span of their operations and calls
	probes   map[[2]string]*probe
	writes   writes
	// held are the last records about what containers have for themselves; rejected is the verdict, over that the worker terminated.
	held           map[holding]*store.Item
	rejected, over *store.Item
}

func (k *Store) newPod(key trace.Pod, first *store.Item) *pod {
	return &pod{
		key: key, first: first, run: k.kept.Run(key),
		progress: map[trace.SpanID]*store.Item{}, volumes: map[string]*volume{}, within: map[trace.SpanID]*volume{},
		probes: map[[2]string]*probe{}, pulls: map[string]*store.Item{}, held: map[holding]*store.Item{},
	}
}

// inPassing reports whether the pod was only mentioned by other records.
func (p *pod) inPassing() bool {
	return p.seen == nil && p.started == nil && p.ready == nil && p.ending == nil && p.status == nil && p.worker == nil
}

func (p *pod) walk(v visit) {
	words, parts, history := needPod, needParts, needHistory
	if p.gone != nil {
		words, parts, history = needHistory, needPast, needPast
	}
	one(v, words, &p.last, &p.first, &p.seen, &p.started, &p.ready, &p.ending, &p.gone, &p.next)
	one(v, words, &p.status, &p.worker, &p.moved, &p.left, &p.sync, &p.plan, &p.retry, &p.rejected, &p.over)
	table(v, parts, p.held)
	many(v, parts, &p.prior)
	table(v, parts, p.progress)
	table(v, parts, p.pulls)
	maps.DeleteFunc(p.volumes, func(_ string, vol *volume) bool { return !vol.walk(v, parts) })
	maps.DeleteFunc(p.probes, func(_ [2]string, pr *probe) bool { return !pr.walk(v, parts) })
	p.writes.walk(v, parts)
	p.walkRuns(v, history)
}

// walkRuns visits the records that explain the pod's run and its earlier runs.
func (p *pod) walkRuns(v visit, first store.Need) {
	if p.run == nil {
		return
	}
	if p.run.Times.Ready != 0 || p.run.Times.Ending != 0 {
		first = needPast
	}
	p.run.Walk(v, first, needEvidence)
	for before := p.run.Before; before != nil; before = before.Before {
		before.Walk(v, needEvidence, needEvidence)
	}
}

// explains returns the records that explain the pod's runs.
func (p *pod) explains() (all []*store.Item) {
	for run := p.run; run != nil; run = run.Before {
		all = append(all, run.Items()...)
	}
	return all
}

// podFor returns the pod of a record.
func (k *Store) podFor(r *trace.Record) *pod {
	p := k.pods[r.Pod]
	if p == nil {
		if len(k.pods) >= k.opt.Pods {
			k.dropQuietest()
		}
		p = k.newPod(r.Pod, nil)
		k.pods[r.Pod], p.heard = p, k.heard.PushBack(p)
	}
	if p.run == nil { // the runtime's records of its spans do not start a run
		p.run = k.kept.Run(r.Pod)
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

// drop removes a pod with its runs.
func (k *Store) drop(p *pod) {
	k.leave(p)
	k.kept.Forget(p.key)
}

// leave removes what is kept about a pod.
func (k *Store) leave(p *pod) {
	delete(k.pods, p.key)
	k.heard.Remove(p.heard)
	k.lost += p.lost
	k.gone = slices.DeleteFunc(k.gone, func(o *pod) bool { return o == p })
}

// foldPod keeps a record about a pod.
func (k *Store) foldPod(p *pod, r *trace.Record, it *store.Item) {
	if p.first == nil {
		p.first = it
	}
	p.foldResources(r.Event, it)
	switch e := r.Event.(type) {
	case *trace.Milestone:
		k.foldMilestone(p, e, it)
	case *trace.PodStatus:
		p.status = it
	case *trace.Worker:
		p.foldWorker(e, it)
	case *trace.Sync:
		if r.Edge != trace.EdgeBegin {
			p.sync = it
		}
	case *trace.Plan:
		p.plan = it
	case *trace.Decision:
		p.foldDecision(e, it)
	case *trace.Wait:
		p.foldWait(r, e, it)
	case *trace.ImagePull:
		p.pulled(r, e, it, k.kept.IsOpen)
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

func (p *pod) foldWorker(e *trace.Worker, it *store.Item) {
	if p.moved == nil || p.state != e.To {
		p.left, p.moved, p.state = p.worker, it, e.To
	}
	p.worker = it
	if evidence.Ends(e) {
		p.end(it)
	}
}

// foldDecision keeps the decision with the end of a back-off, and those that volumes are unhealthy.
func (p *pod) foldDecision(e *trace.Decision, it *store.Item) {
	if v := p.volumes[e.Volume]; v != nil && e.By == trace.ByVolumes {
		if v.health = nil; e.Verdict == trace.VerdictUnhealthy {
			v.health = it
		}
	}
	if !evidence.RetryAt(e).IsZero() {
		p.retry = it
	}
}

func (p *pod) foldWait(r *trace.Record, e *trace.Wait, it *store.Item) {
	if r.Edge != trace.EdgeBegin || e.For != trace.WaitProbe {
		return
	}
	if pr := p.probes[[2]string{e.Target.Name, e.Target.Container}]; pr != nil && e.Until > 0 {
		pr.next = it
	}
}

func (p *pod) foldProgress(r *trace.Record, it *store.Item) {
	id := cmp.Or(r.Parent, r.Span)
	if p.progress[id] == nil && len(p.progress) >= maxPulls {
		return
	}
	p.progress[id] = it
}

// pulled drops the progress of a pull that ended, and of a pull of the same image whose begin was lost.
func (p *pod) pulled(r *trace.Record, e *trace.ImagePull, it *store.Item, open func(trace.SpanID) bool) {
	if r.Edge == trace.EdgeBegin {
		return
	}
	if len(p.pulls) < maxPulls || p.pulls[e.Image] != nil {
		p.pulls[e.Image] = it
	}
	delete(p.progress, r.Span)
	maps.DeleteFunc(p.progress, func(id trace.SpanID, it *store.Item) bool {
		was, ok := it.Event.(*trace.ImageProgress)
		return ok && was.Image == e.Image && !open(id)
	})
}
