// Package memory gives containers of Guaranteed pods memory and huge pages of chosen NUMA nodes.
//
// It owns the policies None and Static, how much memory of each NUMA node is reserved for the system, which containers (with the feature
// gate PodLevelResourceManagers, also pods with pod-level resources, for all of their containers) have the rest, and the state file
// memory_manager_state, in the kubelet's format. It does not decide from which NUMA nodes (package topology does), and does not create
// containers: package podruntime sets the NUMA nodes of a new container. It runs no goroutine. It publishes an Allocation for each container
// or pod that gets memory or releases it, and a Log when the state cannot be saved.
//
// Upstream: pkg/kubelet/cm/memorymanager.
package memory
