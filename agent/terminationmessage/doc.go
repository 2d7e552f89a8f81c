// Package terminationmessage reads the termination message of a container that has exited: its termination message file, or the end
// of its log.
//
// It owns nothing: agent/podruntime creates the files and removes them with the pod. It never calls the runtime, runs no goroutine
// and publishes no event.
package terminationmessage
