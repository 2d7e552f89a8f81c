package recording

import "github.com/kubeloupe/kubeloupe/trace"

// withoutBodies returns the record without the bodies of its call. The given record is not changed: others may use it.
func withoutBodies(r *trace.Record) *trace.Record {
	e := trace.WithoutBodies(r.Event)
	if e == r.Event {
		return r
	}
	out := *r
	out.Event = e
	return &out
}
