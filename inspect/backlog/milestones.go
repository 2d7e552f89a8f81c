package backlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

func (k *Store) foldMilestone(p *pod, e *trace.Milestone, it *store.Item) {
	if p.next != nil && e.Name != trace.MilestoneGone && p.run != k.kept.Run(p.key) {
		p = k.revive(p, p.next) // that it is gone was lost
	}
	switch e.Name {
	case trace.MilestoneSeen:
		switch {
		case p.run != nil && p.run.Next() == it:
			p.next = it
		case p.ending != nil:
			k.revive(p, it)
		default:
			p.seen, p.run = it, k.kept.Run(p.key)
		}
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

// end records that a pod is to terminate.
func (p *pod) end(it *store.Item) {
	if p.ending == nil {
		p.ending = it
	}
}

func (k *Store) foldGone(p *pod, it *store.Item) {
	if p.gone != nil {
		return
	}
	p.gone, p.goneAt = it, it.Time
	if p.next != nil {
		k.revive(p, p.next)
		return
	}
	k.gone = append(k.gone, p)
	if len(k.gone) > k.opt.Gone {
		k.drop(k.gone[0])
	}
}

// revive starts over with the next run of a pod.
func (k *Store) revive(old *pod, seen *store.Item) *pod {
	k.leave(old)
	p := k.newPod(old.key, seen)
	p.last, p.prior = old.last, []*store.Item{old.ending, old.gone}
	k.pods[p.key], p.heard = p, k.heard.PushBack(p)
	k.foldPod(p, &seen.Record, seen)
	return p
}
