package model

import (
	"cmp"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// maxProbes limits the probes of a pod.
const maxProbes = 128

// Probe is the known state of one probe of a container.
type Probe struct {
	Pod       trace.Pod
	Container string
	Kind      trace.ProbeKind
	How       trace.ProbeHow
	// Result is the result of the last finished attempt: success, warning, failure, error; "" if there is none. Count
	// is the number of consecutive attempts with it, of Threshold that are needed.
	Result           trace.ProbeResult
	Output           string
	Count, Threshold int
	// State is the probe's state since Changed: success, failure, unknown; "" if there is none.
	State    trace.ProbeState
	Changed  time.Time
	At       time.Time // of the last attempt's end
	Dur      time.Duration
	Running  bool
	Next     time.Time // of the next attempt; zero if unknown
	Attempts int       // those that count
	Failures int       // failed ones of these

	span trace.SpanID
}

type probeKey struct {
	container string
	kind      trace.ProbeKind
}

// Probes returns the probes of all pods that are not gone: pods in the order in which they were
// first seen, then by container and kind.
func (m *Model) Probes() []Probe {
	var out []Probe
	for _, p := range m.inOrder() {
		from := len(out)
		for _, probe := range p.probes {
			out = append(out, *probe)
		}
		sorting.Stable(out[from:], func(a, b *Probe) int {
			return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return out
}

func (m *Model) applyProbe(p *pod, r *trace.Record, e *trace.ProbeAttempt) {
	k := probeKey{e.Container, e.Probe}
	pr := p.probes[k]
	if pr == nil {
		if len(p.probes) >= maxProbes {
			return
		}
		if p.probes == nil {
			p.probes = map[probeKey]*Probe{}
		}
		pr = &Probe{Pod: p.Key, Container: e.Container, Kind: e.Probe}
		p.probes[k] = pr
	}
	pr.How = cmp.Or(e.How, pr.How)
	if r.Edge == trace.EdgeBegin {
		pr.Running, pr.Next, pr.span = true, time.Time{}, r.Span
		id := r.Span
		m.begin(func() {
			if pr.span == id {
				pr.Running, pr.span = false, 0
			}
		}, nil)
		return
	}
	m.end()
	if !evidence.Counts(e) {
		return
	}
	pr.Result, pr.Output, pr.Count, pr.Threshold = e.Result, e.Output, e.Count, e.Threshold
	pr.At, pr.Dur = r.At(), r.Dur
	pr.Attempts++
	if evidence.Failed(e) {
		pr.Failures++
	}
	if e.State != pr.State {
		pr.State, pr.Changed = e.State, r.At()
	}
}

// nextProbe takes the time of the next attempt from the wait for it.
func (p *pod) nextProbe(e *trace.Wait) {
	if pr := p.probes[probeKey{e.Target.Container, trace.ProbeKind(e.Target.Name)}]; pr != nil && e.Until > 0 {
		pr.Next = time.Unix(0, e.Until)
	}
}
