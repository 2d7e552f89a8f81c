package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Start is a pod's start.
type Start struct {
	Pod     trace.Pod
	Source  trace.SourceName // where the pod came from
	Seen    time.Time        // zero if unknown
	Started time.Time        // all app containers run; zero: not yet or unknown
	Ready   time.Time        // zero: not yet or unknown
	Final   bool             // the observer cannot see whether the pod is ready
	Adopted bool             // its containers were found running
	// ToStarted and ToReady are measured from Seen; 0: not yet or unknown, for example of an adopted pod.
	ToStarted, ToReady time.Duration
	// Segments are the critical path from seen to started, in order; Cause is one
	// line on the longest of them. Both are empty until the pod has started.
	Segments []Segment
	Cause    string
	// Reason is the reason in Cause.
	Reason string
	// Floor is the time that the runtime itself needed; 0 if unknown.
	Floor time.Duration
}

// Segment is a part of the critical path of a start.
type Segment struct {
	waterfall.Part
	Dur time.Duration
}

// StartStats has the figures of the kept finished starts.
type StartStats struct {
	Count         int
	P50, P99, Max time.Duration
}

// Starts returns the finished starts, oldest first, without those of adopted pods and those that a person held with step.
func (m *Model) Starts() []Start {
	out := make([]Start, 0, m.starts.Len())
	m.starts.Each(func(s *Start) {
		c := *s
		c.Segments = slices.Clone(s.Segments)
		out = append(out, c)
	})
	return out
}

// StartStats returns the figures of the times from seen to started.
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

// slowest is Slowest without copies. It visits each start once; most are not among the slowest.
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

// StartRecords returns the kept records of a pod's start, from seen until it was ready and its status was in the API;
// of each pull's progress, only the last. cut says that some are known to be missing.
func (m *Model) StartRecords(key trace.Pod) (recs []trace.Record, cut bool) {
	p := m.pods[key]
	if p == nil || p.start == nil {
		return nil, false
	}
	return p.records(nil), p.start.StartIncomplete()
}

// records appends the kept records of the pod's start.
func (p *pod) records(to []trace.Record) []trace.Record {
	if p.start == nil || p.unseen {
		return to
	}
	end := cmp.Or(p.start.Times.Ready, p.start.Times.Ending)
	var progress map[trace.SpanID]bool
	to = p.start.Append(to)
	for i := range slices.Backward(to) {
		r := &to[i]
		goes := p.until != 0 && r.Seq > p.until || p.ready != 0 && r.Seq > p.ready && !onWayToAPI(r.Event)
		switch e := r.Event.(type) {
		case *trace.RuntimeSpan: // it arrives seconds later; calls after the start, for example for probes, are not part of it
			goes = end != 0 && e.Start > end
		case *trace.ImageProgress:
			goes = goes || progress[r.Parent]
			if progress == nil {
				progress = map[trace.SpanID]bool{}
			}
			progress[r.Parent] = true
		}
		if goes {
			r.Event = nil
		}
	}
	return slices.DeleteFunc(to, func(r trace.Record) bool { return r.Event == nil })
}

// since returns how long the pod took until a milestone: from the milestone, or from the time when it was seen, for
// example for a log without it. An agent's time to find a running pod does not count.
func (s *Start) since(r *trace.Record, e *trace.Milestone) time.Duration {
	switch {
	case s.Adopted:
		return 0
	case e.Since > 0 || s.Seen.IsZero():
		return e.Since
	}
	return max(r.At().Sub(s.Seen), 0)
}

func (m *Model) applyMilestone(p *pod, r *trace.Record, e *trace.Milestone, kept *store.Item) {
	if p.next != nil && e.Name != trace.MilestoneGone && p.run != m.kept.Run(p.Key) {
		p = m.revive(p.next) // the record that it is gone was lost
	}
	s := &p.Start
	s.Pod = p.Key
	s.Adopted = s.Adopted || e.Adopted
	switch e.Name {
	case trace.MilestoneSeen:
		if p.run != nil && p.run.Next() == kept {
			p.next = kept
			return
		}
		if !p.Terminating.IsZero() {
			m.revive(kept)
			return
		}
		if p.run = m.kept.Run(p.Key); p.recording {
			p.start = p.run
		}
		s.Seen, s.Source = r.At(), e.Source
		if e.Spec != nil {
			p.Spec, p.QoS = e.Spec, e.Spec.QoS
			p.declared(e.Spec)
		}
		if e.Labels != nil {
			p.Labels = e.Labels
		}
	case trace.MilestoneStarted:
		if !s.Started.IsZero() {
			return
		}
		s.Started, s.ToStarted, s.Final = r.At(), s.since(r, e), e.Final
		m.began(p, r, e)
		m.finishStart(p, r)
	case trace.MilestoneReady:
		if !s.Ready.IsZero() {
			return
		}
		s.Ready, s.ToReady = r.At(), s.since(r, e)
		m.began(p, r, e)
		if p.ready = r.Seq; !p.untold() {
			p.recorded(r)
		}
		m.starts.Back(func(o *Start) bool { // the newest start of a pod is its last run's
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

// began sets when the pod was seen, for a reader that attached later.
func (m *Model) began(p *pod, r *trace.Record, e *trace.Milestone) {
	if p.Start.Seen.IsZero() && e.Since > 0 {
		p.Start.Seen = r.At().Add(-e.Since)
	}
}

func (m *Model) finishStart(p *pod, r *trace.Record) {
	if p.Start.Adopted || p.Start.ToStarted <= 0 {
		p.unseen = true
		p.recorded(r)
		return
	}
	stepped := p.waits.total[trace.WaitGate] != nil
	if w, err := m.waterfall(p, time.Time{}); err == nil {
		stepped = stepped || w.Stepped()
		p.Start.Floor = w.Floor
		p.Start.Cause, p.Start.Reason = w.CauseAndReason()
		for _, s := range w.Path {
			p.Start.Segments = append(p.Start.Segments, Segment{Part: s.Part, Dur: s.Dur()})
		}
	}
	if stepped {
		return // it says how long the person took
	}
	c := p.Start
	m.starts.Push(&c)
}

// Waterfall explains a pod's start from its kept records. What has not ended is drawn up to now; the zero time means up
// to the last record.
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
	if p.start == nil {
		return nil, fmt.Errorf("waterfall of %s: %w", p.Key, waterfall.ErrNoRecords)
	}
	m.place = p.records(m.place[:0])
	defer clear(m.place)
	return p.start.WaterfallOf(m.place, now)
}

func (m *Model) terminating(p *pod, r *trace.Record) {
	p.recorded(r)
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

// revive replaces a pod by its next run.
func (m *Model) revive(seen *store.Item) *pod {
	m.gone.Drop(func(k trace.Pod) bool { return k == seen.Pod })
	m.remove(m.pods[seen.Pod])
	p := m.newPod(seen.Pod)
	p.Last = m.node.Last
	p.run = m.kept.Run(seen.Pod)
	p.start = p.run
	m.applyPod(p, &seen.Record, seen)
	return p
}

// recorded marks a record as the last of the pod's start.
func (p *pod) recorded(r *trace.Record) {
	if p.recording {
		p.recording, p.until = false, r.Seq
	}
}

// untold reports whether the readiness of a pod is not in the API yet.
func (p *pod) untold() bool {
	if p.written == nil {
		return p.Start.Source == trace.SourceAPI
	}
	return !waterfall.SaysReady(&p.written.Good.StatusPatch)
}

// onWayToAPI reports whether an event is about the write of a ready pod's status to the API, or about the pod's
// termination.
func onWayToAPI(e trace.Event) bool {
	switch e := e.(type) {
	case *trace.StatusPatch, *trace.Milestone:
		return true
	case *trace.Wait:
		return waterfall.AboutStatus(e)
	}
	return false
}
