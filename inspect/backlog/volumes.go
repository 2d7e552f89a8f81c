package backlog

import (
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits on what is kept about a pod's volumes.
const (
	maxVolumes     = 128 // per pod
	maxVolumeCalls = 16  // per volume
	maxOperations  = 64  // per volume, if the ends of many were lost
	maxWithin      = 512 // open operations and calls, per pod
)

// volume is what is kept about one volume: the current or last operation, the last that ended, the last mount and the
// last unmount, and the operations with the last calls to its driver.
type volume struct {
	ops                       []*operation // oldest first
	ended, mounted, unmounted *operation
	progressed                *operation  // the operation whose progress is still shown: no other has begun since
	outdated                  *operation  // the last that began after a progress, which is no longer shown: it may be kept for a start
	health                    *store.Item // the decision that it is unhealthy; nil if it is healthy
}

// operation is an operation on a volume, with the records that explain it.
type operation struct {
	it       *store.Item
	progress *store.Item
	calls    []*store.Item
}

// walk reports whether anything of the volume remains.
func (v *volume) walk(see visit, n store.Need) bool {
	one(see, n, &v.health)
	for _, o := range v.ops {
		one(see, n, &o.it, &o.progress)
		many(see, n, &o.calls)
	}
	v.ops = slices.DeleteFunc(v.ops, func(o *operation) bool { return o.it == nil })
	for _, o := range []**operation{&v.ended, &v.mounted, &v.unmounted, &v.progressed, &v.outdated} {
		if *o != nil && (*o).it == nil {
			*o = nil
		}
	}
	return len(v.ops) > 0
}

func (p *pod) volume(name string) *volume {
	v := p.volumes[name]
	if v == nil && len(p.volumes) < maxVolumes {
		v = &volume{}
		p.volumes[name] = v
	}
	return v
}

func (p *pod) foldVolume(r *trace.Record, e *trace.Volume, it *store.Item) {
	v := p.volume(e.Name)
	if v == nil {
		return
	}
	op := v.of(it)
	if r.Edge == trace.EdgeBegin {
		if len(p.within) >= maxWithin { // their ends were lost
			clear(p.within)
		}
		p.within[r.Span] = v
		if v.progressed != nil || v.outdated != nil {
			v.outdated = op
		}
		v.progressed = nil
		v.trim()
		return
	}
	delete(p.within, r.Span)
	v.ended = op
	switch {
	case e.Err != "" || e.Op == trace.VolumeRefresh || e.Op == trace.VolumeGrow:
	case e.Op == trace.VolumeTeardown:
		v.unmounted, v.health = op, nil
	default:
		v.mounted = op
	}
	v.trim()
}

// of returns the operation of an item, a new one if necessary.
func (v *volume) of(it *store.Item) *operation {
	for _, o := range v.ops {
		if o.it == it {
			return o
		}
	}
	op := &operation{it: it}
	v.ops = append(v.ops, op)
	return op
}

// within finds the operation whose open span, or the open span of one of its calls, is the parent.
func (v *volume) within(parent trace.SpanID) *operation {
	for _, o := range slices.Backward(v.ops) {
		if o.it.Span == parent || slices.ContainsFunc(o.calls, func(c *store.Item) bool { return c.Span == parent }) {
			return o
		}
	}
	return nil
}

// trim drops operations that say nothing that later ones do not, and calls of which there are too many.
func (v *volume) trim() {
	calls := 0
	for _, o := range slices.Backward(v.ops) {
		o.calls = o.calls[max(0, len(o.calls)-max(maxVolumeCalls-calls, 0)):]
		calls += len(o.calls)
	}
	newest, crowded := v.ops[len(v.ops)-1], len(v.ops) > maxOperations
	v.ops = slices.DeleteFunc(v.ops, func(o *operation) bool {
		needed := o == newest || o == v.ended || o == v.mounted || o == v.unmounted || o == v.progressed || o == v.outdated || len(o.calls) > 0
		return !needed && (o.it.Over() || crowded)
	})
}

func (p *pod) volumeProgress(r *trace.Record, it *store.Item) {
	if v := p.within[r.Parent]; v != nil {
		if op := v.within(r.Parent); op != nil {
			op.progress, v.progressed = it, op
		}
	}
}

func (p *pod) foldCSI(r *trace.Record, it *store.Item) {
	v := p.within[r.Parent]
	if r.Edge == trace.EdgeEnd {
		delete(p.within, r.Span)
	}
	if v == nil {
		return
	}
	op := v.within(r.Parent)
	if op == nil || slices.Contains(op.calls, it) {
		return
	}
	op.calls = append(op.calls, it)
	if r.Edge == trace.EdgeBegin {
		p.within[r.Span] = v
	}
	v.trim()
}
