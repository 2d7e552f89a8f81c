// Package session folds a whole stream of records, of a run or of a recording, into the runs of its pods.
//
// It owns which record belongs to which run: a run begins with the milestone seen, for a static pod keeps its UID over several, and
// what comes after its end stays with it until the next begins. What the runtime tells late of its own spans goes to the run that they
// were made for. Memory is bounded: so many runs, so many records of each (the first and the newest), so many of the node; bodies
// of calls and patches are dropped.
//
// It reads no clock, runs no goroutine and publishes nothing. A Session is for one goroutine.
package session
