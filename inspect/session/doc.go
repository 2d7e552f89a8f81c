// Package session explains the runs of pods in a whole stream of records, live or recorded: it has the case of each for
// inspect/cause, with the events around it.
//
// It owns no records: it is a projection of inspect/store. It reads no clock, runs no goroutine and publishes nothing.
// A Session is for one goroutine.
package session
