// Package evidence decides which records explain a pod's run, and for how long. inspect/store keeps records by these
// rules, for analysis (inspect/session) and for readers that attach late (inspect/backlog). So both find the same.
//
// A pod's run is explained by its own records (the first and the newest of them, see PerRun) and by what happened
// around it at the times of its interest (Times): while it started, and from ten minutes before it was no longer ready,
// or was to go. What continued around is what the node and other pods did (OfNode, Private). Verdicts explain what
// comes up to ten minutes after them, and figures what was before.
//
// Records that a healthy run repeats explain nothing (Routine).
//
// It also has the meaning of records that several folds need: whether a pod is done, an attempt counts, the API server
// is healthy.
//
// It owns no records, runs no goroutine, reads no clock and publishes nothing.
package evidence

import "time"

// PerRun is how many records of a run explain it: half of them the first, half the newest. Begins without ends,
// milestones and the last status are additional.
const PerRun = 4096

const (
	// LookBack is how long before a time of interest verdicts and figures of the node still explain it, for example the
	// removal of an image.
	LookBack = 10 * time.Minute
	// LookAhead is the longest interval of the node's figures on a node that is well: they are published at its end. On a
	// starved node, it is longer.
	LookAhead = 11 * time.Second
	// settle is how long a start is still of interest after the pod is ready, while its status is written to the API.
	settle = 5 * time.Second
)
