package keeper

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxMilestones is how many milestones are kept beyond Options.PerStart.
const maxMilestones = 8

// protected is how many of the slowest starts are kept longest.
const protected = 10

// start is the records of a pod's start, the same that inspect/model keeps of one.
type start struct {
	items     []*item
	count     int // records in items that came while recording
	size      int // bytes of all that came
	spans     int
	recording bool
	source    string
	adopted   bool
	took      time.Duration // to started; 0 unknown
	readyAt   int64         // 0 not yet
	seenKnown bool
	lost      uint64 // records for which there was no room
}

// keepStart keeps a record as part of a start.
func (k *Keeper) keepStart(p *pod, r *trace.Record, it *item) {
	s := &p.start
	if e, ok := r.Event.(*trace.RuntimeSpan); ok {
		k.keepSpan(p, e, it)
		return
	}
	if !s.recording || s.readyAt != 0 && !onWayToAPI(r.Event) {
		return
	}
	if _, ok := r.Event.(*trace.ImageProgress); ok {
		s.dropProgress(r.Parent)
	}
	_, always := r.Event.(*trace.Milestone)
	// Of both limits it keeps one record more than inspect/model, which thereby sees that there were more.
	full := s.count > k.opt.PerStart || s.size > k.opt.StartSize+trace.MaxEvent
	if full && !(always && s.count <= k.opt.PerStart+maxMilestones) {
		return
	}
	if len(s.items) == 0 {
		k.starts = append(k.starts, p)
		k.makeRoom()
	}
	s.count++
	s.size += r.Size()
	if it.end == nil || len(s.items) == 0 || !slices.Contains(s.items, it) {
		s.items = append(s.items, it)
	}
}

// keepSpan keeps what the runtime told of its part in a start, often when the pod is ready already, but not what
// it did after that.
func (k *Keeper) keepSpan(p *pod, e *trace.RuntimeSpan, it *item) {
	s, end := &p.start, p.start.readyAt
	if end == 0 && p.ending != nil {
		end = p.ending.first.Time
	}
	if len(s.items) == 0 || end != 0 && e.Start > end || s.spans > k.opt.PerStart || s.size > k.opt.StartSize+trace.MaxEvent {
		return
	}
	s.spans++
	s.size += it.first.Size()
	s.items = append(s.items, it)
}

// dropProgress makes way for what is the latest of a pull.
func (s *start) dropProgress(parent trace.SpanID) {
	s.items = slices.DeleteFunc(s.items, func(o *item) bool {
		_, same := o.first.Event.(*trace.ImageProgress)
		same = same && o.first.Parent == parent
		if same {
			s.count--
		}
		return same
	})
}

// onWayToAPI reports whether an event tells how the status of a pod that is ready gets into
// the API, or that the pod is to go.
func onWayToAPI(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.StatusPatch, *trace.Milestone:
		return true
	case *trace.Wait:
		return waterfall.AboutStatus(e)
	}
	return false
}

func (k *Keeper) foldMilestone(p *pod, e *trace.Milestone, it *item) {
	s := &p.start
	s.adopted = s.adopted || e.Adopted
	switch e.Name {
	case "seen":
		if p.ending != nil {
			k.seenAgain(p, it)
			return
		}
		p.seen, s.source, s.seenKnown = it, e.Source, true
	case "started":
		if p.started != nil {
			return
		}
		p.started, s.took, s.seenKnown = it, e.Since, s.seenKnown || e.Since > 0
		if s.adopted || e.Since <= 0 {
			k.forgetStart(p)
		}
	case "ready":
		if p.ready != nil {
			return
		}
		p.ready, s.readyAt, s.seenKnown = it, it.first.Time, s.seenKnown || e.Since > 0
		s.recording = s.recording && p.untold()
	case "terminating":
		p.end(it)
	case "gone":
		p.end(it)
		k.foldGone(p, it)
	}
}

// untold reports whether the API is to be told of a pod that is ready, and has not been.
func (p *pod) untold() bool {
	if !p.writes.known {
		return p.start.source == "api"
	}
	if p.writes.good == nil {
		return true
	}
	e, ok := p.writes.good.last().Event.(*trace.StatusPatch)
	return !ok || !waterfall.SaysReady(e)
}

// startByStatus ends the recording of a pod that is over, or had started before the first record.
func (k *Keeper) startByStatus(p *pod, e *trace.PodStatus, it *item) {
	done := e.Phase == "Succeeded" || e.Phase == "Failed"
	before := !p.start.seenKnown && (done || e.Total > 0 && e.Ready >= e.Total)
	if (before || done) && p.closing == nil {
		p.closing = it
	}
	if before {
		k.forgetStart(p)
	} else if done {
		p.start.recording = false
	}
}

// end notes that a pod is to go.
func (p *pod) end(it *item) {
	p.start.recording = false
	if p.ending == nil {
		p.ending = it
	}
}

// perEnd is how many records of a pod's end are kept.
const perEnd = 100

// keepEnd keeps what explains how long a pod takes to be gone: the milestone, whoever told first that it ends, its steps and its waits.
func (p *pod) keepEnd(r *trace.Record, it *item) {
	if p.ending == nil || len(p.ends) >= perEnd || slices.Contains(p.ends, it) {
		return
	}
	switch r.Event.(type) {
	case *trace.Milestone, *trace.Action, *trace.Wait:
		p.ends = append(p.ends, it)
	}
}

func (k *Keeper) foldGone(p *pod, it *item) {
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
func (k *Keeper) seenAgain(p *pod, it *item) {
	if p.gone == nil {
		p.next = it
		return
	}
	k.revive(p, it)
}

// revive begins anew with the next life of a pod.
func (k *Keeper) revive(old *pod, seen *item) {
	last := old.last
	k.drop(old)
	p := newPod(old.key, seen)
	p.last, p.prior = last, []*item{old.ending, old.gone}
	k.pods[p.key], p.heard = p, k.heard.PushBack(p)
	k.foldPod(p, seen.first, seen)
}

// forgetStart drops the records of a start and keeps no more.
func (k *Keeper) forgetStart(p *pod) {
	p.start.items, p.start.recording = nil, false
	k.starts = slices.DeleteFunc(k.starts, func(o *pod) bool { return o == p })
}

// makeRoom drops the records of the oldest start that is neither under way nor among the
// slowest; of the oldest one when there is no such.
func (k *Keeper) makeRoom() {
	if len(k.starts) <= k.opt.Kept {
		return
	}
	slow := slices.Clone(k.starts)
	slices.SortStableFunc(slow, func(a, b *pod) int { return cmp.Compare(b.start.took, a.start.took) })
	slow = slow[:min(protected, len(slow))]
	for _, p := range k.starts {
		if !p.start.recording && !slices.Contains(slow, p) {
			k.forgetStart(p)
			return
		}
	}
	k.forgetStart(k.starts[0])
}
