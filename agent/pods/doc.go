// Package pods combines the desired pods with their actual state. [Manager] handles the events of the syncLoop;
// [Syncer] does the work of a pod's worker.
//
// It owns the set of desired pods, their statuses and their milestones. It never calls the runtime itself
// (agent/podruntime does) and never writes to an API server.
//
// It runs no goroutine. It publishes Milestone, PodStatus, and the Decisions of admission, adoption and housekeeping.
//
// Upstream: pkg/kubelet/kubelet.go, HandlePodAdditions and similar methods, SyncPod, HandlePodCleanups.
package pods
