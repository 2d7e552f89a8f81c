// Package model folds trace records into a picture of the node: pods and their
// workers, volumes, probes and statuses, loop iterations, CRI calls, the API server as
// the node sees it, garbage collection, pressure and log. Views ask it and draw.
//
// It owns that picture. What explains the starts of pods is in an inspect/store that it feeds, of which others may make
// more. It is pure: it reads no clock (queries
// that need "now" take it as an argument), starts no goroutine, publishes no
// event and never fails. A Model is for one goroutine.
//
// Unknown is unknown: a zero time.Time means that the stream did not say. A
// reader that attaches late sees ends without begins, and one that fell behind
// is notified of lost records; what was open across such a hole is marked Uncertain
// until something settles it.
//
// Memory is bounded by Options. What accessors return is the caller's own,
// except slices and pointers inside events (PodSpec, Decision.Inputs, bodies),
// which are shared and must not be changed.
package model
