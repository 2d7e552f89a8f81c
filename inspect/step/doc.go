// Package step lets a person go through a pod's creation action by action.
//
// It owns the session: where the pod stands, what is next, the breakpoints, and
// what changed on the node since the last stop. It reaches an agent only by being its gate: the
// methods Holds, Before and After are all that a runner calls. It never changes what is done and
// never holds any other pod.
//
// A session opens its gate for good when its client goes away, so that a lost ssh
// session never leaves a pod frozen.
//
// It runs no goroutine. It publishes Gate when an action that waits is answered: go,
// skip-rest for a quit, open when the client went away.
package step
