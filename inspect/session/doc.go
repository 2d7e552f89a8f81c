// Package session explains the runs of pods in a whole stream of records, of a run or of a recording: it has the case of each for
// inspect/cause, with what happened around it.
//
// It owns no records: it is a projection of inspect/store. It reads no clock, runs no goroutine and publishes nothing. A Session is for one
// goroutine.
package session
