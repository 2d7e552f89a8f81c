// Package topology decides from which NUMA nodes a pod gets its CPUs, memory and devices.
//
// It owns the hints of the managers that give these resources (its Providers), how they are merged, the policies (none, best-effort,
// restricted, single-numa-node) and their scopes (a container or a pod). It gives nothing itself: its Providers do, to containers or, with
// the feature gate PodLevelResourceManagers, to pods with pod-level resources. It keeps no state and runs no goroutine. It publishes an
// Allocation for each pod.
//
// Upstream: pkg/kubelet/cm/topologymanager.
package topology
