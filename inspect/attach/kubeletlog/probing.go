package kubeletlog

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// attempt is the last one of a probe of which the log has a line.
type attempt struct {
	at     int64
	passed bool
}

// probeID names a probe of a pod.
type probeID struct {
	container string
	kind      trace.ProbeKind
}

// asked notes an attempt of a probe, from when until when. The time since the one before, or since the container's start, was a wait for it:
// with the spec it is known that there is such a probe, and what its figures are.
func (f *Fold) asked(p *pod, id probeID, from, to int64, passed bool) {
	if p.tries == nil {
		p.tries = map[probeID]attempt{}
	}
	if k := f.spec(p); k != nil && k.has(id) && !p.ready {
		f.waitedFor(p, id, from)
	}
	if len(p.tries) < maxLives {
		p.tries[id] = attempt{to, passed}
	}
}

// waitedFor tells of the wait for an attempt.
func (f *Fold) waitedFor(p *pod, id probeID, at int64) {
	since := p.tries[id].at
	if since == 0 && !p.missed {
		since = p.lastStart
	}
	if startup, ok := p.tries[probeID{id.container, trace.ProbeStartup}]; ok && id.kind == trace.ProbeReadiness {
		since = max(since, startup.at)
	}
	if since == 0 || at <= since {
		return
	}
	f.was(p, nil, since, at, micros, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: string(id.kind), Container: id.container}})
}

// said is a probe that changed a container's state, of which the line names the pod only: where the spec has one such probe, it is that. Its
// attempt has a line of its own from V3 on.
func (f *Fold) said(p *pod, kind trace.ProbeKind, at int64) {
	k := f.spec(p)
	if k == nil || p.ready || p.ending {
		return
	}
	only := probeID{}
	for _, id := range k.probes {
		if id.kind != kind {
			continue
		}
		if only.container != "" {
			return
		}
		only = id
	}
	last := p.tries[only]
	if only.container == "" || last.passed && at-last.at < int64(time.Second) {
		return
	}
	f.asked(p, only, at, at, true)
	f.point(p, at, micros, &trace.ProbeAttempt{Container: only.container, Probe: kind, Result: trace.ProbeSuccess})
}
