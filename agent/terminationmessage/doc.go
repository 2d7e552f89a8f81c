// Package terminationmessage reads the termination message of a container that has ended:
// what it wrote to its termination message file, or the end of its log.
//
// It owns nothing: agent/podruntime makes the files and removes them with the pod.
// It never asks the runtime, runs no goroutine and publishes no event.
package terminationmessage
