// Package step steps through a pod's creation and termination, action by action and call by call.
//
// It owns the sessions: where a pod is paused, what is next, the breakpoints, and what changed on the node since the last stop; and
// the switch, which is the gate of an agent and holds the pods of its sessions. The agent calls it: a runner calls only Holds and
// Ask. It changes only what the user requests: a failure, a delay, a retry. It never holds any other pod.
//
// A session opens its gate permanently when its client disconnects, so that a lost ssh session never leaves a pod paused.
//
// An attached session runs one goroutine, which reads the events of its pod, until it is closed; a Front runs one during its Run.
// It publishes Gate when a paused action gets an answer: go, fail, delay, retry, skip-rest for a quit, open when the client
// disconnected.
package step
