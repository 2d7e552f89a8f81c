// Package podstate is the state of a pod in the runtime: its sandboxes and containers, as plain values.
//
// It owns the types and their look-ups. It never talks to a runtime, runs no
// goroutine and publishes nothing.
package podstate
