// Package resize keeps the allocated and the actuated resources of pods, and decides whether a pod whose spec requests new
// resources gets them.
//
// It owns the conditions PodResizePending and PodResizeInProgress and the checkpoints allocated_pods_state and actuated_pods_state,
// in upstream's format. All admitted pods are in the checkpoints: the spec of each can change while no agent runs. It never touches a
// container or a cgroup: agent/podruntime does.
//
// Run saves added pods; there is no other goroutine. It publishes Decision, Resize and Log, and NodeEvent if there is no recorder of
// Kubernetes Events.
//
// Upstream: pkg/kubelet/allocation.
package resize
