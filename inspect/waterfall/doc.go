// Package waterfall explains how one pod came up: what ran when, what waited for
// what, and which chain of things set the pace (the critical path).
//
// It owns the reading of one start out of trace records, its layout in columns
// and its drawing in plain text. It never guesses: time on the critical path that
// no record covers is unexplained, and reasons are those that were recorded. It
// reads no clock, runs no goroutine and publishes nothing.
//
// The critical path is found backwards from the moment the pod had started. What
// comes before an action is whichever of these ended last: an action that the
// plan says it needs, an earlier try of the same action, or an action of an
// earlier sync, since a worker's syncs are strictly serial. Where a gate holds the pod
// (somebody steps it) actions go one by one, so it may be any action. Without a plan
// it is whatever action of the pod ended last. Where that leaves a hole and a wait of
// the pod itself ended in it, the wait comes before; what is left is unexplained.
package waterfall
