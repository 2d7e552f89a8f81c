// Package model computes the state of the node from trace records: pods and their workers, volumes, probes and
// statuses, loop iterations, CRI calls, the API server as the node sees it, garbage collection, pressure and log. Views
// query it and draw.
//
// It owns that state. The records that explain the starts of pods are in an inspect/store that it feeds, and that
// others can use. It is pure: it reads no clock (queries that need "now" take it as an argument), starts no goroutine,
// publishes no event and never fails. A Model is for one goroutine.
//
// A zero time.Time means that the time is unknown. A reader that attaches late sees ends without begins, and one that
// fell behind is notified of lost records; what was open across such a gap is marked Uncertain until a later record
// settles it.
//
// Memory is bounded by Options. The results of accessors are copies, except slices and pointers inside events (PodSpec,
// Decision.Inputs, bodies), which are shared and must not be changed.
package model
