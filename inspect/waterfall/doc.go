// Package waterfall explains the start of one pod: the actions, the waits, and the chain of actions that determined the total time
// (the critical path).
//
// It reads one start from trace records, and owns its layout in columns and its drawing in plain text. It never guesses: time on
// the critical path that no record covers is unexplained, and reasons are the recorded ones. It reads no clock, runs no goroutine
// and publishes nothing.
//
// The critical path is found backwards from the moment the pod had started. The predecessor of an action is the one of these that
// ended last: an action that it needs according to the plan, an earlier attempt of the same action, or an action of an earlier
// sync, because a worker's syncs are strictly serial. If a gate holds the pod (in a step session), actions run one by one, so it
// can be any action. Without a plan, it is the action of the pod that ended last. If this leaves a gap and a wait of the pod itself
// ended in it, the wait is the predecessor; the rest is unexplained.
package waterfall
