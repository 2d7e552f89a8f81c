// Package podstate is the state of a pod in the runtime: its sandboxes and containers, as plain values.
//
// It owns the types, their look-ups and the order of a pod's addresses. It never talks to a runtime, runs no
// goroutine and publishes nothing.
package podstate
