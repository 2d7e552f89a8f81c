// Package worker gives each pod one worker: requests to it are merged, its work is strictly serial, and a request to terminate is
// never lost.
//
// machine.go is the pure state machine; worker.go is the goroutine that drives
// it; manager.go has the workers of all pods.
//
// It owns the pods' worker states. It never talks to a runtime: a [Syncer] does
// the work. It never decides that a pod must end.
//
// It runs a goroutine per pod that is not idle. It publishes Worker and Sync, and the waits of retries and of a static pod for its
// predecessor.
//
// Upstream: pkg/kubelet/pod_workers.go.
package worker
