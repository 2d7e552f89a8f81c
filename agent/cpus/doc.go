// Package cpus gives containers CPUs for themselves, and keeps all others off those.
//
// It owns the policies none and static with their options, which CPUs each container has, and the state file cpu_manager_state, in the
// kubelet's format. Containers of Guaranteed pods that request whole CPUs get their own; all others share the rest. With the feature gate
// PodLevelResourceManagers, a pod with pod-level resources gets CPUs for all of its containers, of which these have parts or share the rest.
// It does not decide from which NUMA nodes (package topology does), and does not create containers: package podruntime sets the CPUs of a
// new container.
//
// Run changes the CPUs of containers that already run, in its caller's goroutine and up to four others: when an allocation has changed, and
// every reconcile period. It publishes an Allocation for each container or pod that gets CPUs or loses them, and a Log when the state cannot
// be saved or a container cannot be changed.
//
// Upstream: pkg/kubelet/cm/cpumanager.
package cpus
