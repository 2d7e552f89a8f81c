// Package step lets a person go through a pod's creation and end, action by action and
// call by call.
//
// It owns the sessions: where a pod stands, what is next, the breakpoints, and what changed on
// the node since the last stop; and the switch, which is the gate of an agent and holds the pods that
// its sessions name. It reaches an agent only by being asked: Holds and Ask are all that a runner
// calls. It changes nothing but what a person asks for: a failure, a delay, another try. It never holds
// any other pod.
//
// A session opens its gate for good when its client goes away, so that a lost ssh
// session never leaves a pod frozen.
//
// A session that was attached runs one goroutine, which reads what becomes of its pod, until it
// is closed; a Front runs one while its Run does. It publishes Gate when an action that waits is
// answered: go, fail, delay, retry, skip-rest for a quit, open when the client went away.
package step
