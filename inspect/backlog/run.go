package backlog

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/trace"
)

// run is what explains a pod's run: its first records and its newest.
type run struct {
	times evidence.Times
	head  []*item
	tail  ring.Ring[*item]
	count int // records of what is in head
	again evidence.Routine
	// earlier are what explains the runs that the same pod had before, the newest of it.
	earlier []*item
	past    []evidence.Interval // when what happened around those explains them
	lost    uint64              // records for which there was no room
}

// newRun keeps one record more than those that explain a run, by which readers see that there were more.
func newRun(records int) run {
	return run{tail: ring.New[*item](records - records/2 + 1)}
}

// add keeps a record of the run.
func (n *run) add(r *trace.Record, it *item, records int) {
	n.times.See(r)
	switch {
	case it.head: // an end goes with its begin
		n.count++
	case n.count < records/2 && n.tail.Len() == 0:
		n.count++
		it.head = true
		n.head = append(n.head, it)
	default:
		n.tail.Push(it)
	}
	if a := n.again.See(&n.times, r); a != nil {
		n.forget(a)
	}
}

// forget lets go of an attempt that explains nothing any more.
func (n *run) forget(a *evidence.Attempt) {
	if n.tail.Len() > 0 {
		n.tail.Drop(func(it *item) bool { return a.Has(it.first.Span) })
		return
	}
	from := len(n.head)
	for from > 0 && n.head[from-1].first.Time >= a.From {
		from--
	}
	n.head = append(n.head[:from], slices.DeleteFunc(n.head[from:], func(it *item) bool {
		if !a.Has(it.first.Span) {
			return false
		}
		n.count -= int(it.records())
		return true
	})...)
}

// maxPast bounds the times of earlier runs.
const maxPast = 64

// follow takes over what explains the runs of the same pod before, so much of it.
func (n *run) follow(before *run, records int, now int64) {
	n.earlier = before.all()
	n.earlier = n.earlier[max(0, len(n.earlier)-records):]
	n.past = append(before.past, before.times.Interest(now)...)
	n.past = n.past[max(0, len(n.past)-maxPast):]
}

// all returns what explains the run and those before it.
func (n *run) all() []*item { return slices.Concat(n.earlier, n.head, n.tail.List()) }

func (n *run) walk(v visit, head need) {
	if n.times.Ready != 0 || n.times.Ending != 0 {
		head = needPast
	}
	many(v, head, &n.head)
	history(v, needEvidence, &n.tail)
	many(v, needEvidence, &n.earlier)
}

// sweepNode lets go of what the node did that explains no run that is kept, and will explain none that comes.
func (k *Store) sweepNode(now int64) {
	recent := evidence.Interval{From: now - int64(evidence.LookBack), To: now}
	at, far := []evidence.Interval{recent}, []evidence.Interval{recent}
	for _, p := range k.pods {
		for _, i := range append(p.run.times.Interest(now), p.run.past...) {
			at = append(at, i)
			far = append(far, evidence.Interval{From: i.From - int64(evidence.LookBack), To: i.To + int64(evidence.LookAhead)})
		}
	}
	at, far = evidence.Union(at), evidence.Union(far)
	k.around.Drop(func(it *item) bool {
		when, last := at, it.last()
		if evidence.Lasting(last.Event) || evidence.Figures(last.Event) {
			when = far
		}
		return it.over() && !evidence.Within(when, it.first.Time) && !evidence.Within(when, last.Time)
	})
}
