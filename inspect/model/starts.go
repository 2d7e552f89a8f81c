package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxMilestones is how many milestones are kept beyond Options.PerStart.
const maxMilestones = 8

// Start is how a pod came up.
type Start struct {
	Pod     trace.Pod
	Source  trace.SourceName // where the pod came from
	Seen    time.Time        // zero unknown
	Started time.Time        // all app containers run; zero: not yet or unknown
	Ready   time.Time        // zero: not yet or unknown
	Adopted bool             // its containers were found running
	// ToStarted and ToReady are measured from Seen; 0: not yet or unknown, as of a pod that was adopted.
	ToStarted, ToReady time.Duration
	// Segments are the critical path from seen to started, in order; Cause is one
	// line on the longest of them. Both are empty until the pod has started.
	Segments []Segment
	Cause    string
	// Reason is the part of Cause that says why.
	Reason string
	// Floor is what the runtime itself needed of it; 0 unknown.
	Floor time.Duration
}

// Segment is a stretch of the critical path of a start.
type Segment struct {
	waterfall.Part
	Dur time.Duration
}

// StartStats sums up the finished starts that are remembered.
type StartStats struct {
	Count         int
	P50, P99, Max time.Duration
}

// Starts returns the finished starts, oldest first. Adopted pods are not among them.
func (m *Model) Starts() []Start {
	out := make([]Start, 0, m.starts.Len())
	m.starts.Each(func(s *Start) {
		c := *s
		c.Segments = slices.Clone(s.Segments)
		out = append(out, c)
	})
	return out
}

// StartStats sums up the times from seen to started.
func (m *Model) StartStats() StartStats {
	d := make([]time.Duration, 0, m.starts.Len())
	m.starts.Each(func(s *Start) { d = append(d, s.ToStarted) })
	slices.Sort(d)
	return StartStats{Count: len(d), P50: Percentile(d, 50), P99: Percentile(d, 99), Max: Percentile(d, 100)}
}

// Slowest returns the n slowest finished starts, slowest first.
func (m *Model) Slowest(n int) []Start {
	slow := m.slowest(n)
	out := make([]Start, 0, len(slow))
	for _, s := range slow {
		c := *s
		c.Segments = slices.Clone(s.Segments)
		out = append(out, c)
	}
	return out
}

// slowest is Slowest without copies. It goes over all starts once; most of them are not among the slowest.
func (m *Model) slowest(n int) []*Start {
	out := make([]*Start, 0, n+1)
	m.starts.Each(func(s *Start) {
		if len(out) == n && (n == 0 || s.ToStarted <= out[n-1].ToStarted) {
			return
		}
		at := len(out)
		for at > 0 && out[at-1].ToStarted < s.ToStarted {
			at--
		}
		out = slices.Insert(out, at, s)
		out = out[:min(n, len(out))]
	})
	return out
}

// StartRecords returns the records of a pod's start, from seen to ready, as far
// as they are kept. cut says that there were more than Options.PerStart.
func (m *Model) StartRecords(key trace.Pod) (recs []trace.Record, cut bool) {
	p := m.pods[key]
	if p == nil {
		return nil, false
	}
	return p.records(nil), p.cut
}

// since is how long the pod took to get there; what the agent took to find it there says nothing of that.
func (s *Start) since(e *trace.Milestone) time.Duration {
	if s.Adopted {
		return 0
	}
	return e.Since
}

func (m *Model) applyMilestone(p *pod, r *trace.Record, e *trace.Milestone) {
	s := &p.Start
	s.Pod = p.Key
	s.Adopted = s.Adopted || e.Adopted
	switch e.Name {
	case trace.MilestoneSeen:
		if !p.Terminating.IsZero() {
			m.seenAgain(p, r)
			return
		}
		s.Seen, s.Source = r.At(), e.Source
		if e.Spec != nil {
			p.Spec, p.QoS = e.Spec, e.Spec.QoS
			p.declared(e.Spec)
		}
	case trace.MilestoneStarted:
		if !s.Started.IsZero() {
			return
		}
		s.Started, s.ToStarted = r.At(), s.since(e)
		m.began(p, r, e)
		m.finishStart(p)
	case trace.MilestoneReady:
		if !s.Ready.IsZero() {
			return
		}
		s.Ready, s.ToReady = r.At(), s.since(e)
		m.began(p, r, e)
		p.recording = p.recording && p.untold()
		m.starts.Back(func(o *Start) bool { // the newest of a pod is its last life's
			if o.Pod != p.Key {
				return true
			}
			o.Ready, o.ToReady = s.Ready, s.ToReady
			return false
		})
	case trace.MilestoneTerminating:
		m.terminating(p, r)
	case trace.MilestoneGone:
		m.terminating(p, r)
		m.applyGone(p, r)
	}
}

// began fills in when the pod was seen, for a reader that was not there.
func (m *Model) began(p *pod, r *trace.Record, e *trace.Milestone) {
	if p.Start.Seen.IsZero() && e.Since > 0 {
		p.Start.Seen = r.At().Add(-e.Since)
	}
}

func (m *Model) finishStart(p *pod) {
	if p.Start.Adopted || p.Start.ToStarted <= 0 {
		m.forget(p)
		return
	}
	if w, err := m.waterfall(p, time.Time{}); err == nil {
		p.Start.Cause, p.Start.Reason, p.Start.Floor = w.Cause(), w.Reason(), w.Floor
		for _, s := range w.Path {
			p.Start.Segments = append(p.Start.Segments, Segment{Part: s.Part, Dur: s.Dur()})
		}
	}
	c := p.Start
	m.starts.Push(&c)
}

// Waterfall explains a pod's start as far as its records are kept. What has not
// ended is drawn up to now; the zero time means up to the last record.
func (m *Model) Waterfall(key trace.Pod, now time.Time) (*waterfall.Waterfall, error) {
	p := m.pods[key]
	if p == nil {
		return nil, fmt.Errorf("waterfall of %s: %w", key, waterfall.ErrNoRecords)
	}
	if p.Start.Adopted {
		return nil, fmt.Errorf("waterfall of %s: %w", key, waterfall.ErrAdopted)
	}
	return m.waterfall(p, now)
}

func (m *Model) waterfall(p *pod, now time.Time) (*waterfall.Waterfall, error) {
	if !p.recording {
		now = time.Time{}
	}
	m.place = p.records(m.place[:0])
	defer clear(m.place)
	w, err := waterfall.BuildAt(m.place, p.Key, now)
	if err != nil {
		return nil, err
	}
	w.Incomplete = p.cut || p.holed
	return w, nil
}

func (m *Model) terminating(p *pod, r *trace.Record) {
	p.recording = false
	if p.Terminating.IsZero() {
		p.Terminating = r.At()
	}
}

func (m *Model) applyGone(p *pod, r *trace.Record) {
	if !p.Gone.IsZero() {
		return
	}
	p.Gone = r.At()
	if p.next != nil {
		m.revive(p.next)
		return
	}
	if old, displaced := m.gone.Push(p.Key); displaced {
		if o := m.pods[old]; o != nil {
			m.remove(o)
		}
	}
}

// seenAgain handles a pod of the same identity that comes back: at once when the
// last life is over, otherwise when it will be.
func (m *Model) seenAgain(p *pod, r *trace.Record) {
	if p.Gone.IsZero() {
		next := *r
		p.next = &next
		return
	}
	m.gone.Drop(func(k trace.Pod) bool { return k == p.Key })
	m.revive(r)
}

// revive replaces a pod that is gone by its next life.
func (m *Model) revive(seen *trace.Record) *pod {
	m.remove(m.pods[seen.Pod])
	p := m.newPod(seen.Pod)
	p.Last = m.node.Last
	m.applyPod(p, seen)
	return p
}

// keep remembers a record of a pod's start, without bodies and only the last
// progress of each pull. Milestones are kept even when there is no more room.
func (m *Model) keep(p *pod, r *trace.Record) {
	if e, ok := r.Event.(*trace.RuntimeSpan); ok {
		m.keepSpan(p, r, e)
		return
	}
	if !p.recording || !p.Start.Ready.IsZero() && !onWayToAPI(r.Event) {
		return
	}
	kept := *r
	kept.Event = trace.WithoutBodies(r.Event)
	if _, ok := r.Event.(*trace.ImageProgress); ok {
		p.recs = slices.DeleteFunc(p.recs, func(o keptRecord) bool {
			_, same := o.Event.(*trace.ImageProgress)
			return same && o.Parent == r.Parent
		})
	}
	_, always := r.Event.(*trace.Milestone)
	if n := len(p.recs) - p.spans; (n >= m.opt.PerStart || p.recSize > m.opt.StartSize) && !(always && n < m.opt.PerStart+maxMilestones) {
		p.cut = true
		return
	}
	if len(p.recs) == 0 {
		m.kept = append(m.kept, p)
		m.makeRoom()
		p.recs = m.room()
	}
	p.recs = append(p.recs, keep(&kept))
	p.recSize += kept.Size()
}

// keepSpan remembers what the runtime told of its part in a start. That comes seconds later,
// often when the pod is ready already; what it did after that, as for probes, is not of the start.
func (m *Model) keepSpan(p *pod, r *trace.Record, e *trace.RuntimeSpan) {
	end := p.Start.Ready
	if end.IsZero() {
		end = p.Terminating
	}
	if len(p.recs) == 0 || !end.IsZero() && e.Start > end.UnixNano() {
		return
	}
	if p.spans >= m.opt.PerStart || p.recSize > m.opt.StartSize {
		p.cut = true
		return
	}
	p.spans++
	kept := *r
	kept.Event = p.straight(e)
	p.recs = append(p.recs, keep(&kept))
	p.recSize += r.Size()
}

// untold reports whether the API is to be told of a pod that is ready, and has not been.
func (p *pod) untold() bool {
	if p.written == nil {
		return p.Start.Source == trace.SourceAPI
	}
	return !waterfall.SaysReady(&p.written.Good.StatusPatch)
}

// onWayToAPI reports whether an event tells how the status of a pod that is ready gets into the API,
// or that the pod is to go.
func onWayToAPI(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.StatusPatch, *trace.Milestone:
		return true
	case *trace.Wait:
		return waterfall.AboutStatus(e)
	}
	return false
}

// forget drops the kept records of a pod and keeps no more.
func (m *Model) forget(p *pod) {
	m.reuse(p.recs)
	p.recs, p.recSize, p.spans, p.recording = nil, 0, 0, false
	if i := slices.Index(m.kept, p); i >= 0 {
		m.kept = slices.Delete(m.kept, i, i+1)
	}
}

// makeRoom drops the kept records of the oldest start that is neither under way
// nor among the ten slowest; of the oldest start when there is no such.
func (m *Model) makeRoom() {
	if len(m.kept) <= m.opt.Kept {
		return
	}
	slow := m.slowest(10)
	for _, p := range m.kept {
		isSlow := func(s *Start) bool { return s.Pod == p.Key }
		if !p.recording && !slices.ContainsFunc(slow, isSlow) {
			m.forget(p)
			return
		}
	}
	m.forget(m.kept[0])
}
