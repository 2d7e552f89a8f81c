package backlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxProbes is the maximum number of probes kept for a pod.
const maxProbes = 128

// probe is what is kept about one probe of a container.
type probe struct {
	any     *store.Item // the last attempt
	counted *store.Item // the last attempt that counts
	changed *store.Item // the attempt that changed the probe's result, and the one before it
	before  *store.Item
	next    *store.Item // the wait for the next attempt
	state   trace.ProbeState
}

// walk reports whether anything of the probe remains.
func (pr *probe) walk(v visit, n store.Need) bool {
	one(v, n, &pr.any, &pr.counted, &pr.changed, &pr.before, &pr.next)
	return pr.any != nil || pr.counted != nil
}

func (p *pod) foldAttempt(r *trace.Record, e *trace.ProbeAttempt, it *store.Item) {
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
