// Command conformance runs Kubernetes' own end-to-end tests against an agent on
// a one-node cluster of the lab, keeps the result, and prints it beside the
// newest one of the other agent.
//
// It owns the results, below conformance/ in the lab's cache, one file for each
// run. It takes down what it brought up, unless told to keep it, and nothing
// else. It fails if a test does not pass that upstream's kubelet passes. It
// runs no goroutine but one that prints progress.
package main
