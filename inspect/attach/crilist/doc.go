// Package crilist says which pods and containers are there already when a kubelet that is not ours begins to be watched, by read-only
// lists of its container runtime.
//
// It owns what becomes of those lists: pods that were found running. It calls Version, ListPodSandbox and ListContainers, once, and nothing
// that changes or subscribes to anything: on another agent's runtime, reading GetContainerEvents can block that agent. Names and
// annotations are the kubelet's words, of what pods say; answers are bounded. It runs no goroutine and publishes nothing.
package crilist
