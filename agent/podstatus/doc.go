// Package podstatus says what the status of a pod is: phase, conditions and container states, from
// what is desired, what the runtime reports and what the agent knows besides.
//
// It is pure: it never asks the runtime, keeps no state (the previous status is an input), runs no
// goroutine and publishes no event. The last status written by either agent of a node is a valid
// previous status for the other.
package podstatus
