package backlog

import (
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// writes is what is kept of the writes about a pod's object: the last, the last that worked, the last of its
// status that did, the one that deleted it, and the first since the last that worked.
type writes struct {
	last, settled, good, deleted, pending *store.Item
}

func (w *writes) walk(v visit, n store.Need) {
	one(v, n, &w.last, &w.settled, &w.good, &w.deleted, &w.pending)
}

func (p *pod) foldWrite(r *trace.Record, e *trace.StatusPatch, it *store.Item) {
	w := &p.writes
	if r.Edge != trace.EdgeBegin {
		w.last = it
	}
	if r.Edge == trace.EdgeBegin || e.Err != "" {
		if w.pending == nil {
			w.pending = it
		}
		return
	}
	w.settled, w.pending = it, nil
	switch e.Op {
	case trace.PatchStatus:
		w.good = it
	case trace.PatchDelete:
		w.deleted = it
	case trace.CreateMirror, trace.DeleteMirror:
	}
}
