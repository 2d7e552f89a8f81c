// Package evidence says which records explain what became of a pod, and for how long. inspect/store keeps records by these rules, for
// analysis (inspect/session) and for those who attach late (inspect/backlog). So they find the same.
//
// A pod's run is explained by its own records (the first and the newest of them, see PerRun) and by what happened around it at the times of
// its interest (Times): while it started, and from ten minutes before it was no longer ready, or was to go. What continued around is what
// the node and other pods did (OfNode, Private). Verdicts explain what comes up to ten minutes after them, and figures what was before.
//
// What a run that is well tells again and again explains nothing (Routine).
//
// It also has what a record says that more than one fold has to know: whether a pod is done, an attempt counts, the API server is well.
//
// It owns no records, runs no goroutine, reads no clock and publishes nothing.
package evidence

import "time"

// PerRun is how many records of a run explain it: half of them the first, half the newest. What has not ended, milestones and the last
// status count besides.
const PerRun = 4096

const (
	// LookBack is how long before a time of interest verdicts and figures of the node still explain it, as an image that was removed.
	LookBack = 10 * time.Minute
	// LookAhead is the longest time that figures of the node are about: they are told at its end.
	LookAhead = 11 * time.Second
	// settle is how long after it was ready a start is looked at: the API is told of it meanwhile.
	settle = 5 * time.Second
)
