package recording

import "github.com/kubeloupe/kubeloupe/trace"

// withoutBodies returns the record without what its call carried. The record that
// it is given stays as it is: others may hold it.
func withoutBodies(r *trace.Record) *trace.Record {
	e := trace.WithoutBodies(r.Event)
	if e == r.Event {
		return r
	}
	out := *r
	out.Event = e
	return &out
}
