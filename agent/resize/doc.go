// Package resize keeps what pods have been allocated and what their containers were last given, and
// decides whether a pod whose spec asks for other resources gets them.
//
// It owns the conditions PodResizePending and PodResizeInProgress and the checkpoints
// allocated_pods_state and actuated_pods_state, in upstream's format. Only pods that have been resized, or
// wait for it, are in the checkpoints: of all others, the spec says the same. It never touches a container or
// a cgroup: agent/podruntime does.
//
// It runs no goroutine. It publishes Decision, and NodeEvent where nobody makes Kubernetes Events.
//
// Upstream: pkg/kubelet/allocation.
package resize
