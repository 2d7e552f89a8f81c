package backlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxProbes bounds how many probes of a pod are kept.
const maxProbes = 128

// probe is what is kept of one probe of a container.
type probe struct {
	any     *item // the last attempt
	counted *item // the last that counts
	changed *item // the one that changed what the probe says, and the one before that
	before  *item
	next    *item // the wait for the next one
	state   trace.ProbeState
}

// walk reports whether anything is left of it.
func (pr *probe) walk(v visit, n need) bool {
	one(v, n, &pr.any, &pr.counted, &pr.changed, &pr.before, &pr.next)
	return pr.any != nil || pr.counted != nil
}

func (p *pod) foldAttempt(r *trace.Record, e *trace.ProbeAttempt, it *item) {
	key := [2]string{string(e.Probe), e.Container}
	pr := p.probes[key]
	if pr == nil {
		if len(p.probes) >= maxProbes {
			return
		}
		pr = &probe{}
		p.probes[key] = pr
	}
	pr.any = it
	if r.Edge == trace.EdgeBegin {
		pr.next = nil
		return
	}
	if !evidence.Counts(e) {
		return
	}
	if e.State != pr.state {
		pr.before, pr.changed, pr.state = pr.counted, it, e.State
	}
	pr.counted = it
}
