package recording

import "github.com/kubeloupe/kubeloupe/trace"

// withoutBodies returns the record without what its call carried. The record that
// it is given stays as it is: others may hold it.
func withoutBodies(r *trace.Record) *trace.Record {
	call, ok := r.Event.(*trace.CRICall)
	if !ok || call.Request.IsZero() && call.Response.IsZero() {
		return r
	}
	c := *call
	c.Request, c.Response = trace.Body{}, trace.Body{}
	out := *r
	out.Event = &c
	return &out
}
