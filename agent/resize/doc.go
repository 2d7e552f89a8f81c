// Package resize keeps the allocated and the actuated resources of pods, and decides whether a pod whose spec requests new
// resources gets them.
//
// It owns the conditions PodResizePending and PodResizeInProgress and the checkpoints allocated_pods_state and actuated_pods_state,
// in upstream's format. Only pods that have been resized, or wait for it, are in the checkpoints: for all others, the spec is
// sufficient. It never touches a container or a cgroup: agent/podruntime does.
//
// It runs no goroutine. It publishes Decision, and NodeEvent if there is no recorder of Kubernetes Events.
//
// Upstream: pkg/kubelet/allocation.
package resize
