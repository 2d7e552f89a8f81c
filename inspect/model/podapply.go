package model

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxPulls limits Pod.Pulls.
const maxPulls = 64

// applyPod applies one record to its pod.
func (m *Model) applyPod(p *pod, r *trace.Record, kept *store.Item) {
	switch e := r.Event.(type) {
	case *trace.Milestone:
		m.applyMilestone(p, r, e, kept)
	case *trace.PodStatus:
		m.applyStatus(p, r, e)
	case *trace.Worker:
		m.applyWorker(p, r, e)
	case *trace.Sync:
		m.applySync(p, r, e)
	case *trace.Plan:
		p.Plan, p.PlanAt = e, r.At()
	case *trace.Action:
		m.applyAction(p, r, e)
	case *trace.Wait:
		m.applyPodWait(p, r, e)
	case *trace.ImagePull:
		m.applyPull(p, r, e)
	case *trace.ImageProgress:
		p.progress(r, e)
	case *trace.Volume:
		m.applyVolume(p, r, e)
	case *trace.VolumeProgress:
		p.volumeProgress(r, e)
	case *trace.CSICall:
		m.applyCSICall(p, r, e)
	case *trace.StatusPatch:
		m.applyPatch(p, r, e)
	case *trace.ProbeAttempt:
		m.applyProbe(p, r, e)
	}
}

func (m *Model) applyStatus(p *pod, r *trace.Record, e *trace.PodStatus) {
	p.StatusAt = r.At()
	p.Phase, p.Reason, p.Message = e.Phase, e.Reason, e.Message
	p.Ready, p.Total, p.Restarts = e.Ready, e.Total, e.Restarts
	p.IP, p.SandboxID, p.Containers = e.IP, e.SandboxID, e.Containers
	done := e.Phase.Terminal()
	if p.Start.Seen.IsZero() && (done || e.Total > 0 && e.Ready >= e.Total) {
		p.unseen = true // it started before the first record: its start is unknown
		p.recorded(r)
	} else if done {
		p.recorded(r)
	}
}

// track adds a span's open value to a map until the span ends.
func track[T any](m *Model, in map[trace.SpanID]*T, r *trace.Record, v *T, mark func()) {
	id := r.Span
	in[id] = v
	m.begin(func() { delete(in, id) }, mark)
}

func (m *Model) applyAction(p *pod, r *trace.Record, e *trace.Action) {
	if r.Edge != trace.EdgeBegin {
		m.end()
		return
	}
	a := &Action{
		ID: e.ID, Verb: string(e.Verb), Container: e.Container, Target: e.Target, Reason: e.Reason, Since: r.At(),
	}
	track(m, p.actions, r, a, func() { a.Uncertain = true })
}

// backoff computes Backoff from the open waits.
func (p *pod) backoff() {
	p.Backoff = Backoff{}
	for _, w := range p.waits.open {
		if w.For != trace.WaitBackoff || waterfall.AboutStatus(&w.Wait) {
			continue
		}
		if !p.Backoff.Active() || w.Since.Before(p.Backoff.Since) {
			p.Backoff = Backoff{Wait: w.Wait, Since: w.Since}
		}
	}
	switch b := &p.Backoff; {
	case b.Wait.Until != 0:
		b.Until = time.Unix(0, b.Wait.Until).UTC()
	case b.Active() && p.retryAt.After(b.Since):
		b.Until = p.retryAt
	}
}

// decide takes the end of a back-off from its decision.
func (p *pod) decide(d Decision) {
	p.judge(&d.Decision)
	if at := evidence.RetryAt(&d.Decision); !at.IsZero() {
		p.retryAt = at
		p.backoff()
	}
}

func (m *Model) applyPull(p *pod, r *trace.Record, e *trace.ImagePull) {
	if r.Edge == trace.EdgeBegin {
		pull := &Pull{Image: e.Image, Since: r.At()}
		track(m, p.pulls, r, pull, func() { pull.Uncertain = true })
		return
	}
	m.end()
	for id, pull := range p.pulls {
		if pull.Image == e.Image && pull.Since.IsZero() {
			delete(p.pulls, id)
		}
	}
}

// progress updates the progress of a pull, including one whose begin was not seen.
func (p *pod) progress(r *trace.Record, e *trace.ImageProgress) {
	pull := p.pulls[r.Parent]
	for _, o := range p.pulls {
		if pull == nil && o.Image == e.Image {
			pull = o
		}
	}
	if pull == nil {
		if len(p.pulls) >= maxPulls {
			return
		}
		pull = &Pull{Image: e.Image}
		p.pulls[cmp.Or(r.Parent, r.Span)] = pull
	}
	pull.Done, pull.Total, pull.Source, pull.At = e.Done, e.Total, e.Source, r.At()
}
