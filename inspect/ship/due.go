package ship

import (
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// starting is a start that is not finished, or not sent yet.
type starting struct {
	sent     int // how often
	finished bool
}

// due is something of which a tree is made at a time: a start, or a sync that has ended.
type due struct {
	at   time.Time
	pod  trace.Pod
	sync *trace.Record // nil: a start
	// timeout says that the start is made although it is not finished.
	timeout bool
}

// apply takes records in.
func (s *Shipper) apply(recs []trace.Record, lost uint64) {
	if lost > 0 {
		s.kept.Lost(lost)
	}
	now := time.Now()
	for i := range recs {
		r := &recs[i]
		if r.Event == nil {
			continue
		}
		s.kept.Apply(r)
		switch e := r.Event.(type) {
		case *trace.Agent:
			if e.Node != "" {
				s.cfg.Node = e.Node
			}
		case *trace.Milestone:
			s.milestone(r.Pod, e, now)
		case *trace.PodStatus:
			if completed(e) {
				s.finish(r.Pod, now)
			}
		case *trace.Sync:
			s.sync(r, e, now)
		}
		if s.cfg.Uploader == nil {
			continue
		}
		if tree := s.gcs.see(r); tree != nil {
			s.collected(r, tree)
		}
	}
}

// milestone begins a start, or finishes it.
func (s *Shipper) milestone(pod trace.Pod, e *trace.Milestone, now time.Time) {
	switch e.Name {
	case trace.MilestoneSeen:
		if e.Adopted {
			return
		}
		for old := range s.starts { // one whose end was lost, most likely
			if len(s.starts) < maxDue {
				break
			}
			s.forget(old)
		}
		s.due = slices.DeleteFunc(s.due, func(d due) bool { return d.pod == pod && d.sync == nil })
		s.starts[pod] = &starting{}
		s.plan(due{at: now.Add(unfinished), pod: pod, timeout: true})
	case trace.MilestoneStarted:
		if e.Adopted {
			s.forget(pod)
		}
	case trace.MilestoneReady, trace.MilestoneTerminating, trace.MilestoneGone:
		s.finish(pod, now)
	}
}

// finish has the tree of a start made once the runtime has told its part.
func (s *Shipper) finish(pod trace.Pod, now time.Time) {
	st := s.starts[pod]
	if st == nil || st.finished {
		return
	}
	st.finished = true
	s.due = slices.DeleteFunc(s.due, func(d due) bool { return d.pod == pod && d.timeout })
	s.plan(due{at: now.Add(settle), pod: pod})
}

// forget drops a start that was not seen.
func (s *Shipper) forget(pod trace.Pod) {
	delete(s.starts, pod)
	s.due = slices.DeleteFunc(s.due, func(d due) bool { return d.pod == pod && d.sync == nil })
}

func (s *Shipper) plan(d due) {
	if len(s.due) < 2*maxDue {
		s.due = append(s.due, d)
	}
}

// sync has the tree of a sync made that was slow or failed, unless it is part of a start.
func (s *Shipper) sync(end *trace.Record, e *trace.Sync, now time.Time) {
	if s.cfg.Uploader == nil {
		return // nobody gets its tree
	}
	if st := s.starts[end.Pod]; end.Edge != trace.EdgeEnd || end.At().Before(s.began) || e.Err == "" && end.Dur <= Slow || st != nil && (!st.finished || st.sent == 0) {
		return
	}
	if !s.rate.AllowN(now, 1) {
		s.skipped.Add(1)
		s.wake()
		return
	}
	own := *end
	s.plan(due{at: now.Add(settle), pod: end.Pod, sync: &own})
}

// make makes a tree, and has it sent if it is slow, failed or sampled.
func (s *Shipper) make(d due) {
	run := s.kept.Run(d.pod)
	if d.sync != nil {
		recs := []trace.Record{*d.sync}
		if run != nil {
			recs = append(run.Records(), *d.sync)
		}
		s.ship(withAttr(part(d.sync, recs), "kubeloupe.sent_because", "slow or failed"), true)
		return
	}
	st := s.starts[d.pod]
	if st == nil || d.timeout && st.finished {
		return
	}
	if run == nil {
		s.forget(d.pod)
		return
	}
	s.startOf(run, st)
	if !d.timeout {
		delete(s.starts, d.pod)
	}
}

// startOf explains a start, and makes its tree if that is sent. The causes are found of slow, failed and sent starts only.
func (s *Shipper) startOf(run *store.PodRun, st *starting) {
	now := time.Now()
	own := &cause.Case{Pod: run.Pod, Records: run.Records(), Now: run.At(now)}
	var err error
	if own.Waterfall, err = run.WaterfallOf(own.Records, now); err != nil || own.Waterfall.Origin.Add(lengthOf(own.Waterfall)).Before(s.began) {
		return // it was found running, or is another Shipper's
	}
	is := outline(own, st.sent)
	st.sent++
	because := ""
	switch {
	case is.Outcome == outcomeFailed || is.Outcome == outcomeUnfinished:
		because = is.Outcome
	case is.Took > Slow || is.Outcome == outcomeStarted && !st.finished:
		because = "slow"
	case s.cfg.Uploader != nil && sampled(is.Trace, s.cfg.PerMillion):
		because = "sampled"
	}
	if because != "" {
		t := start(s.kept.Case(run, now), &is)
		is.Sent = s.cfg.Uploader != nil
		s.ship(withAttr(t, "kubeloupe.sent_because", because), because != "sampled")
	}
	if s.cfg.Explained != nil {
		s.cfg.Explained(is)
	}
}

func withAttr(t *export.Tree, key, value string) *export.Tree {
	t.Attrs = append(t.Attrs, export.Attr{Key: key, Value: value})
	return t
}
