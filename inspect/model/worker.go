package model

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxWaitKinds limits Worker.Waits.
const maxWaitKinds = 64

// Worker is the known state of a pod's worker.
type Worker struct {
	State   trace.WorkerState // "" if unknown
	Since   time.Time         // since when; zero if unknown
	Reason  string
	Grace   int64 // seconds, while terminating
	Current Sync  // Running is false if none runs or none is known
	Last    Sync  // the last finished one; Begin is zero if none is known
	Syncs   int   // finished and observed
	Errors  int   // failed ones of these
	Waits   []WaitTotal
}

// Sync is one sync of a worker.
type Sync struct {
	Why       trace.SyncWhy
	Cause     string
	N         int
	Merged    int
	Begin     time.Time
	Dur       time.Duration // 0 while it runs
	Err       string
	Running   bool
	Uncertain bool // it may have ended unobserved
}

// WaitTotal is the total duration of a pod's finished waits of one kind.
type WaitTotal struct {
	For   trace.WaitKind
	Count int
	Dur   time.Duration
}

// worker returns a copy with its lists filled in.
func (p *pod) worker() Worker {
	w := p.Pod.Worker
	w.Waits = p.waits.over()
	for _, s := range p.syncs {
		if !w.Current.Running || s.Begin.After(w.Current.Begin) {
			w.Current = *s
		}
	}
	return w
}

func (m *Model) applyWorker(p *pod, r *trace.Record, e *trace.Worker) {
	w := &p.Pod.Worker
	if w.State != e.To {
		w.State, w.Since = e.To, r.At()
	}
	w.Reason, w.Grace = e.Reason, e.Grace
	if evidence.Ends(e) {
		m.terminating(p, r)
	}
}

func (m *Model) applySync(p *pod, r *trace.Record, e *trace.Sync) {
	s := Sync{Why: e.Why, Cause: e.Cause, N: e.N, Merged: e.Merged, Begin: at(r.Start()), Dur: r.Dur, Err: e.Err}
	if r.Edge == trace.EdgeBegin {
		begun := &s
		begun.Running = true
		track(m, p.syncs, r, begun, func() { begun.Uncertain = true })
		return
	}
	if open := p.syncs[r.Span]; open != nil {
		s.Why, s.Cause, s.N = cmp.Or(s.Why, open.Why), cmp.Or(s.Cause, open.Cause), cmp.Or(s.N, open.N)
	}
	m.end()
	p.Pod.Worker.Last = s
	p.Pod.Worker.Syncs++
	if e.Err != "" {
		p.Pod.Worker.Errors++
	}
}
