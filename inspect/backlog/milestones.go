package backlog

import "github.com/kubeloupe/kubeloupe/trace"

func (k *Store) foldMilestone(p *pod, e *trace.Milestone, it *item) {
	switch e.Name {
	case trace.MilestoneSeen:
		if p.ending != nil {
			k.seenAgain(p, it)
			return
		}
		p.seen = it
	case trace.MilestoneStarted:
		if p.started == nil {
			p.started = it
		}
	case trace.MilestoneReady:
		if p.ready == nil {
			p.ready = it
		}
	case trace.MilestoneTerminating:
		p.end(it)
	case trace.MilestoneGone:
		p.end(it)
		k.foldGone(p, it)
	}
}

// end notes that a pod is to go.
func (p *pod) end(it *item) {
	if p.ending == nil {
		p.ending = it
	}
}

func (k *Store) foldGone(p *pod, it *item) {
	if p.gone != nil {
		return
	}
	p.gone, p.goneAt = it, it.first.Time
	if p.next != nil {
		k.revive(p, p.next)
		return
	}
	k.gone = append(k.gone, p)
	if len(k.gone) > k.opt.Gone {
		k.drop(k.gone[0])
	}
}

// seenAgain handles a static pod that comes back with the UID it had.
func (k *Store) seenAgain(p *pod, it *item) {
	if p.gone == nil {
		p.next = it
		return
	}
	k.revive(p, it)
}

// revive begins anew with the next life of a pod.
func (k *Store) revive(old *pod, seen *item) {
	k.drop(old)
	p := k.newPod(old.key, seen)
	p.last, p.prior = old.last, []*item{old.ending, old.gone}
	p.run.follow(&old.run, k.opt.PerRun, seen.first.Time)
	k.pods[p.key], p.heard = p, k.heard.PushBack(p)
	k.foldPod(p, seen.first, seen)
}
